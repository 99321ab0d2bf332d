// A place in code, whatever addresses a run happened to load its modules at.
#pragma once

#include <compare>
#include <cstdint>

namespace shadowprof {

// An instruction or block start: the ELF virtual address in its module, as objdump prints it; the
// plain guest address in a pseudo-module.
struct CodeLocation {
    std::uint32_t module = 0;  // index into Profile::modules
    std::uint64_t address = 0;

    friend constexpr auto operator<=>(const CodeLocation&, const CodeLocation&) = default;
};

}  // namespace shadowprof

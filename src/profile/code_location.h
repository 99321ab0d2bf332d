// A place in code that does not depend on the addresses at which a run loaded its modules.
#pragma once

#include <compare>
#include <cstdint>

namespace shadowprof {

// The start of an instruction or a block: its ELF virtual address in its module, as objdump prints
// it; in a pseudo-module, the plain guest address.
struct CodeLocation {
    std::uint32_t module = 0;  // index into Profile::modules
    std::uint64_t address = 0;

    friend constexpr auto operator<=>(const CodeLocation&, const CodeLocation&) = default;
};

}  // namespace shadowprof

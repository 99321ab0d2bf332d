// Values that belong to one run and not to the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// Whether a value is taken for one of this run: a large number in any lane. Stacks, heaps and files
// are mapped elsewhere in each run, and the stack guard is random.
inline bool is_of_the_run(const std::vector<std::byte>& value, ValueType type) {
    constexpr std::uint64_t large = std::uint64_t{1} << 32;
    if (type.kind == ValueType::Kind::floating) return false;
    for (std::size_t lane = 0; lane + 8 <= value.size(); lane += 8) {
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < 8; ++i)
            number |= std::to_integer<std::uint64_t>(value[lane + i]) << (8 * i);
        if (number >= large && number <= ~large) return true;
    }
    return false;
}

}  // namespace shadowprof

// Locations as keys of hash tables.
#pragma once

#include "profile/code_location.h"
#include "profile/statistics/random.h"

namespace shadowprof {

constexpr std::uint64_t location_hash(CodeLocation location) {
    return mix64(location.address ^ std::uint64_t{location.module} << 48);
}

}  // namespace shadowprof

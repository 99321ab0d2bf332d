// Sets of pages within a chunk of 16 pages, as bits.
#pragma once

#include <bit>
#include <cstdint>

#include "base/guest_address.h"

namespace shadowprof {

// Calls visit(first, count) for each run of set bits.
template <typename Visit>
void for_each_run(std::uint32_t bits, Visit visit) {
    while (bits) {
        const auto first = static_cast<unsigned>(std::countr_zero(bits));
        const auto count = static_cast<unsigned>(std::countr_one(bits >> first));
        visit(first, count);
        bits &= ~(((std::uint32_t{1} << count) - 1) << first);
    }
}

inline std::uint16_t page_bit(GuestAddress address) {
    return static_cast<std::uint16_t>(1u << (address.value / page_bytes % 16));
}

}  // namespace shadowprof

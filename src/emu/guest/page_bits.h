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

// The aligned block of `pages` pages, a power of two, that contains an address.
inline std::uint16_t pages_around(GuestAddress address, unsigned pages) {
    const auto place = address.value / page_bytes % 16 / pages * pages;
    return static_cast<std::uint16_t>(((1u << pages) - 1) << place);
}

// The pages from `first` to `end`, which must be in one chunk; `end` may be the chunk's end.
inline std::uint16_t pages_between(GuestAddress first, GuestAddress end) {
    const auto count = (end.value - first.value) / page_bytes;
    return static_cast<std::uint16_t>(((1u << count) - 1) << (first.value / page_bytes % 16));
}

}  // namespace shadowprof

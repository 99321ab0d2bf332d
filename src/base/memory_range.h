// A part of a process's memory.
#pragma once

#include <cstdint>

#include "base/guest_address.h"

namespace shadowprof {

// Part of a guest's memory, from `start` up to `end`, exclusive. all() stands for everything that
// the guest can write to.
struct MemoryRange {
    GuestAddress start, end;

    constexpr bool is_all() const { return start.value == 0 && end.value == ~std::uint64_t{0}; }
    static constexpr MemoryRange all() { return {{0}, {~std::uint64_t{0}}}; }
    friend bool operator==(const MemoryRange&, const MemoryRange&) = default;
};

}  // namespace shadowprof

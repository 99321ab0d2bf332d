// Finds a distance at which all mappings of a guest are free among this process's own.
#pragma once

#include <cstdint>
#include <optional>

#include "base/memory_map.h"
#include "emu/guest/segment_bases.h"

namespace shadowprof {

class GuestPlace {
  public:
    // Both must outlive it. The guest's mappings from `user_end` on, the kernel's own, count
    // nowhere.
    GuestPlace(const MemoryMap& guest, const MemoryMap& own) : guest_(guest), own_(own) {}

    // The end of user space with 4-level paging.
    static constexpr std::uint64_t user_end = 0x7fff'ffff'f000;
    // Kept free below a stack, the guest's and ours, whatever its limit is.
    static constexpr std::uint64_t stack_growth_bytes = std::uint64_t{8} << 20;

    // Returns what is to be added to the guest's addresses, modulo 2^64; nothing if there is room
    // at no distance. With bases by the kernel it is not negative.
    std::optional<std::uint64_t> choose(SegmentBases bases) const;
    // Whether there is room for all mappings, or one, and their growth at this distance.
    bool fits(std::uint64_t delta) const;
    bool fits(const Mapping& mapping, std::uint64_t delta) const;

  private:
    std::optional<std::uint64_t> down_in_steps() const;
    std::uint64_t distance_below_own() const;
    std::optional<std::int64_t> highest_fit(std::int64_t most, std::int64_t least,
                                            std::uint64_t apart_bytes) const;
    std::optional<std::int64_t> highest_fit(const Mapping& mapping, std::int64_t most,
                                            std::int64_t least, std::uint64_t apart_bytes) const;
    const Mapping* in_the_way(const Mapping& mapping, std::uint64_t delta,
                              std::uint64_t apart_bytes) const;

    const MemoryMap& guest_;
    const MemoryMap& own_;
};

}  // namespace shadowprof

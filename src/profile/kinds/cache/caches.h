// The model of the caches: up to three levels of data caches that replace the least recently used
// line of a set (LRU), and allocate a line for stores as for loads.
//
// Lines are found by linear addresses in all levels. There are no prefetchers, no writes of evicted
// lines, no translation of addresses and no other program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profile/kinds/cache/cache_accesses.h"

namespace shadowprof {

// One level: sets of lines, each set in the order of use.
class CacheArray {
  public:
    explicit CacheArray(const CacheLevel& level)
        : sets_(level.sets()), ways_(level.ways), lines_(sets_ * ways_, no_line) {}

    // Whether the line is here. It is then the most recently used one.
    bool touch(std::uint64_t line);
    // Adds a line that is not here. Returns the line that it evicts.
    std::optional<std::uint64_t> insert(std::uint64_t line);
    // Removes the line, if it is here.
    bool remove(std::uint64_t line);

  private:
    static constexpr std::uint64_t no_line = ~std::uint64_t{0};

    // Most caches have a power of two of sets.
    std::uint64_t* set_of(std::uint64_t line) {
        const bool is_power = (sets_ & (sets_ - 1)) == 0;
        return &lines_[(is_power ? line & (sets_ - 1) : line % sets_) * ways_];
    }

    std::uint64_t sets_, ways_;
    std::vector<std::uint64_t> lines_;  // of each set, the most recently used first
};

class Caches {
  public:
    // Needs a possible model, as of cache_parameters.h.
    explicit Caches(const CacheModel& model);

    // An access to `bytes` bytes, at least one. Returns how many levels miss the line that most of
    // them miss.
    std::size_t access(std::uint64_t address, std::uint64_t bytes) {
        const std::uint64_t first = address >> line_shift_;
        const std::uint64_t others = ((address + bytes - 1) >> line_shift_) - first;
        std::size_t missed = access_line(first);
        for (std::uint64_t i = 1; i <= std::min(others, max_lines); ++i)
            missed = std::max(missed, access_line(first + i));
        return missed;
    }

  private:
    // Of one access: addresses from a trace may be anything.
    static constexpr std::uint64_t max_lines = 1024;

    struct Level {
        CacheArray array;
        CacheFill fill;
    };

    std::size_t access_line(std::uint64_t line) {
        return levels_[0].array.touch(line) ? 0 : miss(line);
    }
    std::size_t miss(std::uint64_t line);
    void fill(std::size_t level, std::uint64_t line);

    unsigned line_shift_;
    std::vector<Level> levels_;
};

}  // namespace shadowprof

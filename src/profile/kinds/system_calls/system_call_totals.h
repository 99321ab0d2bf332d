// Counts system calls by place and callers, in bounded space.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "profile/profile.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

class SystemCallTotals {
  public:
    // The number of innermost callers that are told apart.
    static constexpr std::size_t max_callers = 8;
    // Calls beyond so many places and callers only add to the number left out.
    static constexpr std::size_t max_entries = 65536;

    // Adds a call of the 32-bit `number`, which counts `weight` times.
    void add(CodeLocation at, std::uint64_t number, const std::vector<CodeLocation>& callers,
             std::uint64_t weight);
    void add(const SystemCallTotals& more);
    // Sets the profile's system calls, scaled and the most frequent first. Adds a note and a
    // counter if some were left out.
    void fill(Profile& profile, const CountScale& scale) const;

  private:
    using Key = std::tuple<CodeLocation, std::uint64_t, std::vector<CodeLocation>>;

    void add(const Key& key, std::uint64_t count);

    std::map<Key, std::uint64_t> counts_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof

// Counts system calls, failures and bytes by place and callers, in bounded space.
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

    // The calls of one number, place and list of callers.
    struct Entry {
        std::uint64_t count = 0, failed = 0;
        std::uint64_t bytes = 0;  // that were transferred, if the call returns that
    };

    // Adds a call of the 32-bit `number`, which counts `weight` times. Returns what it was added
    // to, which stays where it is; null if it was left out.
    Entry* add(CodeLocation at, std::uint64_t number, const std::vector<CodeLocation>& callers,
               std::uint64_t weight);
    // Adds what a call of `entry` has returned.
    void add_result(Entry& entry, std::uint64_t number, std::uint64_t result, std::uint64_t weight);
    void add(const SystemCallTotals& more);
    // Sets the profile's system calls, scaled and the most frequent first. Adds a note and a
    // counter if some were left out.
    void fill(Profile& profile, const CountScale& scale) const;

  private:
    using Key = std::tuple<CodeLocation, std::uint64_t, std::vector<CodeLocation>>;

    Entry* add(const Key& key, const Entry& more);

    std::map<Key, Entry> entries_;
    bool has_results_ = false;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof

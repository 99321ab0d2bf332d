// Counts system calls, failures and bytes by place and callers, in bounded space.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "profile/kinds/bounded_totals.h"
#include "profile/profile.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

class SystemCallTotals {
  public:
    // The number of innermost callers that are told apart.
    static constexpr std::size_t max_callers = 8;

    // The calls of one number, place and list of callers.
    struct Entry {
        std::uint64_t count = 0, failed = 0;
        std::uint64_t bytes = 0;  // that were transferred, if the call returns that

        Entry& operator+=(const Entry& more) {
            count += more.count;
            failed += more.failed;
            bytes += more.bytes;
            return *this;
        }
    };

    // Adds a call of the 32-bit `number`, which counts `weight` times. Returns what it was added
    // to, which stays where it is; null if it was left out.
    Entry* add(CodeLocation at, std::uint64_t number, const std::vector<CodeLocation>& callers,
               std::uint64_t weight) {
        return totals_.add(Key{at, static_cast<std::uint32_t>(number), callers}, {.count = weight});
    }
    // Adds what a call of `entry` has returned.
    void add_result(Entry& entry, std::uint64_t number, std::uint64_t result, std::uint64_t weight);
    void add(const SystemCallTotals& more) {
        totals_.add(more.totals_);
        has_results_ |= more.has_results_;
    }
    // Sets the profile's system calls, scaled and the most frequent first. Adds a note and a
    // counter if some were left out.
    void fill(Profile& profile, const CountScale& scale) const;

  private:
    using Key = std::tuple<CodeLocation, std::uint64_t, std::vector<CodeLocation>>;

    BoundedTotals<Key, Entry> totals_;
    bool has_results_ = false;
};

}  // namespace shadowprof

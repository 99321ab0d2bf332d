// Counts calls of allocators and the bytes that they are asked for, by callers, in bounded space.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "profile/kinds/bounded_totals.h"
#include "profile/profile.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

class AllocationTotals {
  public:
    // The number of innermost callers that are told apart.
    static constexpr std::size_t max_callers = 8;

    struct Entry {
        std::uint64_t count = 0, bytes = 0;

        Entry& operator+=(const Entry& more) {
            count += more.count;
            bytes += more.bytes;
            return *this;
        }
    };

    // Returns what the calls of `function` by these callers are added to, which stays where it is;
    // null if there is no room, and then a call is left out.
    Entry* entry_of(CodeLocation function, const std::vector<CodeLocation>& callers) {
        return totals_.add({function, callers}, {});
    }
    void leave_out(std::uint64_t calls) { totals_.add_left_out(calls); }
    void add(const AllocationTotals& more) { totals_.add(more.totals_); }
    // Sets the profile's allocations, scaled and the largest first. Adds counters of them all, and
    // a note if some were left out.
    void fill(Profile& profile, const CountScale& scale) const;

  private:
    BoundedTotals<std::pair<CodeLocation, std::vector<CodeLocation>>, Entry> totals_;
};

}  // namespace shadowprof

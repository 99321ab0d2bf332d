#include "profile/kinds/allocations/allocation_totals.h"

#include <fmt/format.h>

#include "base/text/numbered.h"
#include "profile/merge/join.h"

namespace shadowprof {

void AllocationTotals::fill(Profile& profile, const CountScale& scale) const {
    profile.allocations.clear();
    Entry all{.count = totals_.left_out()};
    for (const auto& [key, entry] : totals_.entries()) {
        all += entry;
        profile.allocations.push_back({.function = key.first,
                                       .callers = key.second,
                                       .calls = scale(entry.count),
                                       .bytes = scale(entry.bytes)});
    }
    join_and_sort(profile.allocations);
    auto& counters = profile.sampling.counters;
    counters["allocations"] = scale(all.count);
    counters["allocated_bytes"] = scale(all.bytes);
    if (totals_.left_out() == 0) return;
    const auto left_out = scale(totals_.left_out());
    counters["allocations_left_out"] = left_out;
    profile.notes.push_back(fmt::format("{} {} left out: too many callers allocate",
                                        numbered(left_out, "allocation"),
                                        word_for(left_out, "is", "are")));
}

}  // namespace shadowprof

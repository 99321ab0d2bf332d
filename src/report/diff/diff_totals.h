// Numbers for whole runs, which limits name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "profile/kinds/system_calls/system_call.h"
#include "report/diff/diff_tables.h"

namespace shadowprof {

// A total that collectors count: its name in reports and limits, and that of the profile's counter.
struct CountedTotal {
    std::string_view name;
    std::string_view counter;
};
inline constexpr std::array counted_totals{
    CountedTotal{"alloc.calls", "allocations"},
    CountedTotal{"alloc.bytes", "allocated_bytes"},
    CountedTotal{"cache.accesses", "cache_accesses"},
    CountedTotal{"cache.l1-misses", "cache_l1_misses"},
    CountedTotal{"cache.l2-misses", "cache_l2_misses"},
    CountedTotal{"cache.l3-misses", "cache_l3_misses"},
    CountedTotal{"branch.executions", "branches"},
    CountedTotal{"branch.taken", "branches_taken"},
    CountedTotal{"branch.mispredictions", "branch_mispredictions"}};

// What system calls of one name have a total of besides their number: the word behind the name, and
// where it is.
struct CallTotal {
    std::string_view word;
    std::optional<std::uint64_t> SystemCall::*of;
};
inline constexpr CallTotal failed_calls{"failed", &SystemCall::failed};
inline constexpr CallTotal bytes_of_calls{"bytes", &SystemCall::bytes};

// Sets the totals of two exact profiles, or says why there are none. Counts of models are compared
// only if both profiles have the same model.
void add_totals(Diff& diff, const DiffInput& input);

}  // namespace shadowprof

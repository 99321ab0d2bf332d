#include "profile/kinds/system_calls/system_call_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text/numbered.h"
#include "profile/merge/join.h"
#include "syscalls/call_memory.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

bool returns_bytes(std::uint64_t number) {
    const SyscallFacts* facts = find_syscall_facts(number);
    return facts && facts->result == SyscallResult::bytes;
}

}  // namespace

// The result comes from a worker that is not trusted. No call transfers more.
void SystemCallTotals::add_result(Entry& entry, std::uint64_t number, std::uint64_t result,
                                  std::uint64_t weight) {
    has_results_ = true;
    if (has_failed(result))
        entry.failed += weight;
    else if (returns_bytes(number))
        entry.bytes += weight * std::min(result, max_transfer_bytes);
}

void SystemCallTotals::fill(Profile& profile, const CountScale& scale) const {
    const auto if_known = [&](bool is_known, std::uint64_t n) {
        return is_known ? std::optional(scale(n)) : std::nullopt;
    };
    profile.system_calls.clear();
    for (const auto& [key, entry] : totals_.entries()) {
        const auto& [at, number, callers] = key;
        profile.system_calls.push_back(
            {.at = at,
             .call = syscall_name(number),
             .callers = callers,
             .count = scale(entry.count),
             .failed = if_known(has_results_, entry.failed),
             .bytes = if_known(has_results_ && returns_bytes(number), entry.bytes)});
    }
    join_and_sort(profile.system_calls);
    const auto left_out = totals_.left_out();
    if (left_out == 0) return;
    profile.sampling.counters["system_calls_left_out"] = scale(left_out);
    profile.notes.push_back(fmt::format(
        "{} {} left out: too many places make system calls, or for too many callers",
        numbered(scale(left_out), "system call"), word_for(scale(left_out), "is", "are")));
}

}  // namespace shadowprof

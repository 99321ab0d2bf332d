#include "profile/kinds/system_calls/system_call_totals.h"

#include <fmt/format.h>

#include "profile/merge/join.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

std::string call_name(std::uint64_t number) {
    const SyscallFacts* facts = find_syscall_facts(number);
    return facts ? std::string(facts->name) : fmt::format("syscall_{}", number);
}

}  // namespace

void SystemCallTotals::add(CodeLocation at, std::uint64_t number,
                           const std::vector<CodeLocation>& callers, std::uint64_t weight) {
    add(Key{at, static_cast<std::uint32_t>(number), callers}, weight);
}

void SystemCallTotals::add(const SystemCallTotals& more) {
    for (const auto& [key, count] : more.counts_) add(key, count);
    left_out_ += more.left_out_;
}

void SystemCallTotals::add(const Key& key, std::uint64_t count) {
    const auto known = counts_.find(key);
    if (known != counts_.end())
        known->second += count;
    else if (counts_.size() < max_entries)
        counts_.emplace(key, count);
    else
        left_out_ += count;
}

void SystemCallTotals::fill(Profile& profile, const CountScale& scale) const {
    profile.system_calls.clear();
    for (const auto& [key, count] : counts_) {
        const auto& [at, number, callers] = key;
        profile.system_calls.push_back({at, call_name(number), callers, scale(count)});
    }
    join_and_sort(profile.system_calls);
    if (left_out_ == 0) return;
    profile.sampling.counters["system_calls_left_out"] = scale(left_out_);
    profile.notes.push_back(
        fmt::format("{} system calls are left out: they were made in too many places or by too "
                    "many callers",
                    scale(left_out_)));
}

}  // namespace shadowprof

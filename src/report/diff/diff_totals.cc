#include "report/diff/diff_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "profile/merge/size_limit.h"
#include "report/lists/hot_lists.h"

namespace shadowprof {
namespace {

auto counter(std::string_view name) {
    return [name = std::string(name)](const Profile& profile) {
        const auto found = profile.sampling.counters.find(name);
        return found == profile.sampling.counters.end() ? 0 : static_cast<double>(found->second);
    };
}

bool has_value(const std::optional<std::uint64_t>& n) {
    return n.has_value();
}

class TotalsBuilder {
  public:
    TotalsBuilder(Diff& diff, const DiffInput& input)
        : diff_(diff),
          input_(input),
          base_(input.profile(DiffSide::base)),
          next_(input.profile(DiffSide::next)) {}

    void add_usual() {
        add("instructions", [](const Profile& profile) {
            return static_cast<double>(
                profile.sampling.target_instructions.value_or(profile.sampling.instructions));
        });
        add("edges", [](const Profile& profile) {
            return sum_of_counts(profile.edges) +
                   static_cast<double>(executions_of_cut_edges(profile));
        });
        add("calls", [](const Profile& profile) {
            return sum_of_counts(profile.calls) +
                   static_cast<double>(executions_of_cut_calls(profile));
        });
    }

    template <typename Kind>
    void add_modelled() {
        const std::string word(Kind::option.word);
        const auto& base = Kind::host_of(base_);
        const auto& next = Kind::host_of(next_);
        if (!base || !next) {
            diff_.missing_totals[word] = fmt::format(
                "one of the profiles has no counts of one model (run --mode=exact "
                "--profiles={})",
                word);
            return;
        }
        if (base != next) {
            diff_.missing_totals[word] = "the parameters of the models differ";
            diff_.notes.push_back(fmt::format(
                "{}: the parameters of the models differ; what they count is not compared", word));
            return;
        }
        add_counted(word);
    }

    void add_allocations() {
        for (const Profile* profile : {&base_, &next_})
            if (!profile->sampling.counters.contains("allocations")) {
                diff_.missing_totals["alloc"] =
                    "one of the profiles has no allocations (run --mode=exact --profiles=alloc)";
                return;
            }
        add_counted("alloc");
    }

    // The first of all calls, execve, and the last, exit_group, are in each exact profile with
    // system calls.
    void add_system_calls() {
        if (base_.system_calls.empty() || next_.system_calls.empty()) {
            diff_.missing_totals["syscalls"] =
                "one of the profiles has no system calls (run --mode=exact --profiles=syscall)";
            return;
        }
        add_calls("", [](const SystemCall& call) { return std::optional(call.count); });
        for (const CallTotal& total : {failed_calls, bytes_of_calls}) add_known_of_calls(total);
    }

  private:
    void add_counted(const std::string& word) {
        for (const CountedTotal& total : counted_totals)
            if (total.name.starts_with(word + ".")) add(total.name, counter(total.counter));
    }
    // Adds a total for each name that has calls of which `count` is known.
    void add_calls(const std::string& word, auto count) {
        std::map<std::string, std::array<double, 2>> counts;
        for (const DiffSide side : both_sides)
            for (const SystemCall& call : input_.profile(side).system_calls)
                if (const std::optional<std::uint64_t> n = count(call))
                    counts[call.call][static_cast<std::size_t>(side)] += static_cast<double>(*n);
        for (const auto& [name, of] : counts)
            diff_.totals.push_back({.name = fmt::format("syscalls.{}{}", name, word),
                                    .base = of[0] / input_.scales[0].runs,
                                    .next = of[1] / input_.scales[1].runs,
                                    .is_detail = true});
    }
    // What calls returned is known of all, or of none.
    void add_known_of_calls(const CallTotal& total) {
        for (const Profile* profile : {&base_, &next_})
            if (!std::ranges::all_of(profile->system_calls, has_value, &SystemCall::failed)) {
                diff_.missing_totals[fmt::format("syscalls.{}", total.word)] =
                    "one of the profiles does not know what system calls returned";
                return;
            }
        add_calls(fmt::format(".{}", total.word), std::mem_fn(total.of));
    }
    void add(std::string_view name, auto count) {
        diff_.totals.push_back({.name = std::string(name),
                                .base = count(base_) / input_.scales[0].runs,
                                .next = count(next_) / input_.scales[1].runs});
    }
    Diff& diff_;
    const DiffInput& input_;
    const Profile &base_, &next_;
};

}  // namespace

void add_totals(Diff& diff, const DiffInput& input) {
    if (!diff.as_counts) {
        diff.no_totals = "only exact profiles (run --mode=exact) know how much was executed";
        return;
    }
    TotalsBuilder totals(diff, input);
    totals.add_usual();
    totals.add_allocations();
    totals.add_modelled<CacheList>();
    totals.add_modelled<BranchList>();
    totals.add_system_calls();
}

}  // namespace shadowprof

#include "report/text/advice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text/text_format.h"
#include "profile/code/anonymous_module.h"
#include "profile/code/script_functions.h"
#include "profile/statistics/batch_means.h"
#include "report/symbols/location_name.h"
#include "report/text/facts_text.h"

namespace shadowprof {
namespace {

// Shares from which on something is worth a sentence.
constexpr double much_unnamed = 0.25, much_otherwise = 0.2, many_samples = 0.5;

std::uint64_t count_of(const std::map<std::string, std::uint64_t>& counts, const char* name) {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
}

std::string partial_counts(const SamplingStats& sampling) {
    if (!sampling.exact || sampling.exact->stopped_early.empty()) return "";
    return fmt::format("Counts are partial: {}.", printable(sampling.exact->stopped_early));
}

std::string few_samples(const Profile& profile) {
    const SamplingStats& sampling = profile.sampling;
    const auto samples = sampling.samples;
    if (sampling.exact || samples == 0 || samples >= BatchSizes::min_batches) return "";
    const auto without_room = count_of(sampling.ended, "no_room");
    if (without_room >= samples) return "";
    const auto budget = profile.overhead.budget_percent;
    // A process that was attached to usually goes on.
    const RunInfo& run = profile.run;
    const bool has_ended = run.exit_status || run.exit_signal;
    // Where samples find no room, exact mode finds none either.
    const bool can_count = run.merged_runs == 1 && has_ended && without_room == 0;
    std::vector<std::string> remedies = {"let it run longer"};
    if (budget > 0)
        remedies.push_back(
            fmt::format("allow it more than {} with --budget", percent(budget / 100)));
    if (can_count) remedies.emplace_back("count everything with run --mode=exact");
    const auto looks = count_of(sampling.counters, "looks");
    return fmt::format("Only {}: {} may be far off{}. Remedies: {}.", counted(samples, "sample"),
                       looks == 0 ? "shares" : "what is counted",
                       looks == 0 ? "" : fmt::format(" (times are of {})", counted(looks, "look")),
                       fmt::join(remedies, "; "));
}

std::string ended_by_input(const Profile& profile) {
    const auto ended = count_of(profile.sampling.ended, "input");
    const auto option = profile.run.options.find("record-input");
    const bool is_recorded = option != profile.run.options.end() && option->second == "yes";
    const auto least = many_samples * static_cast<double>(profile.sampling.samples);
    if (ended == 0 || is_recorded || static_cast<double>(ended) < least) return "";
    return fmt::format(
        "{} of {} ended where the program read input, and may be short: --record-input goes on "
        "there.",
        ended, counted(profile.sampling.samples, "sample"));
}

struct UnnamedCode {
    std::uint32_t module = 0;
    double share = 0;
};

// Returns the module with most code in functions that have no names.
UnnamedCode unnamed_code(SymbolSource& symbols, const HotFunctions& functions) {
    std::map<std::uint32_t, double> shares;
    for (const HotFunction& each : functions.list)
        if (symbols.symbol(each.at).function.empty()) shares[each.at.module] += each.share;
    UnnamedCode most;
    for (const auto& [module, share] : shares)
        if (share > most.share) most = {module, share};
    return most;
}

std::string unnamed_functions(const Profile& profile, SymbolSource& symbols,
                              const HotFunctions& functions) {
    const UnnamedCode most = unnamed_code(symbols, functions);
    if (most.share < much_unnamed || most.module >= profile.modules.size()) return "";
    const std::string& path = profile.modules[most.module].path;
    if (path.starts_with('/'))
        return fmt::format(
            "{} is in functions of {} that have no names: install its debug symbols, or get them "
            "with --debuginfod.",
            percent(most.share), printable(path));
    if (path == anonymous_module || process_of_anonymous_module(path))
        return fmt::format(
            "{} is in code without names ({}), which a just-in-time compiler usually makes. It can "
            "write the names, as by node --perf-basic-prof, java -XX:+UnlockDiagnosticVMOptions "
            "-XX:+DumpPerfMapAtExit or python3 -X perf; some write them only when they end.",
            percent(most.share), shown_module(path));
    return "";
}

// Where CPython executes a script's functions that are not read from it.
std::string unread_scripts(const Profile& profile, SymbolSource& symbols,
                           const HotFunctions& functions) {
    const bool is_read = std::ranges::any_of(profile.modules, [](const Module& module) {
        return script_of_module(module.path).has_value();
    });
    if (profile.stacks.empty() || is_read) return "";
    double share = 0;
    for (const HotFunction& each : functions.list) {
        const std::string_view name = symbols.symbol(each.at).function;
        if (name.starts_with("_PyEval_EvalFrame") || name.starts_with("PyEval_EvalFrame"))
            share += each.share;
    }
    if (share < much_unnamed) return "";
    return fmt::format(
        "{} is in the interpreter of a Python whose functions were not read. shadowprof reads "
        "those of CPython 3.11 to 3.13, from a file with \"python\" in its name. Others from 3.12 "
        "on can name them themselves: python3 -X perf.",
        percent(share));
}

std::string time_is_elsewhere(const HotFunctions& functions) {
    if (functions.unit != FunctionWeight::instructions) return "";
    double apart = functions.unsampled_time_share;
    for (const HotFunction& each : functions.list)
        if (each.other_share) apart += std::abs(each.share - *each.other_share);
    // Each share that moves is missing in one place and added in another.
    if (apart / 2 < much_otherwise) return "";
    return fmt::format(
        "Instructions are not time: {} of the time is in other functions than the instructions. "
        "See report --weight=time.",
        percent(apart / 2));
}

}  // namespace

std::vector<std::string> advice(const Profile& profile, SymbolSource& symbols,
                                const HotFunctions& functions) {
    std::vector<std::string> sentences = {partial_counts(profile.sampling),
                                          few_samples(profile),
                                          ended_by_input(profile),
                                          unnamed_functions(profile, symbols, functions),
                                          unread_scripts(profile, symbols, functions),
                                          time_is_elsewhere(functions)};
    std::erase(sentences, "");
    return sentences;
}

std::optional<std::uint64_t> verified_samples(const SamplingStats& sampling) {
    const auto met = count_of(sampling.counters, "windows_met");
    const auto others = count_of(sampling.counters, "windows_missed") +
                        count_of(sampling.counters, "windows_not_reached");
    return met + others == 0 ? std::nullopt : std::optional(met);
}

}  // namespace shadowprof

#include "report/diff/text/diff_words.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text/numbered.h"
#include "base/text/text_format.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

// The number of functions that a message names at most.
constexpr std::size_t max_named = 3;

std::string error_words(const LimitTest& test) {
    if (!test.error || *test.error == 0) return {};
    return fmt::format(" +-{:.2f} points", 100 * *test.error);
}

}  // namespace

std::string quantity_text(DiffUnit unit, double value) {
    return unit == DiffUnit::share ? fmt::format("{:.2f}%", 100 * value)
                                   : fmt::format("{:.0f}", value);
}

std::string difference_text(DiffUnit unit, double difference) {
    return unit == DiffUnit::share ? fmt::format("{:+.2f}", 100 * difference)
                                   : fmt::format("{:+.0f}", difference);
}

std::string relative_text(double base, double next) {
    return base > 0 ? fmt::format("{:+.2f}%", 100 * (next - base) / base) : std::string{};
}

std::string relative_text(const DiffEntry& entry) {
    if (!entry.base) return "new";
    return entry.next ? relative_text(entry.base->value, entry.next->value) : "gone";
}

std::string_view title(DiffKind kind) {
    constexpr std::string_view titles[] = {
        "Functions, by instructions of their own",
        "Functions, by how often they were called",
        "Edges, by executions",
        "Paths, by instructions",
        "Values, by the share of BASE's most frequent one",
        "Levels of memory, by the share of loads",
        "Loads, by the median of their cycles",
        "Functions, by mispredictions of the modelled predictor",
        "Functions, by accesses that miss the modelled L1",
        "Functions, by accesses that miss the modelled L1 and L2",
        "Functions, by accesses that miss all modelled caches",
    };
    return titles[static_cast<std::size_t>(kind)];
}

std::string shown_name(DiffKind kind, const DiffEntry& entry) {
    return printable(is_by_function(kind) ? without_arguments(entry.name) : entry.name);
}

std::string side_words(const DiffReportSide& side) {
    const SamplingStats& sampling = side.profile.sampling;
    const std::uint64_t instructions = sampling.target_instructions.value_or(sampling.instructions);
    std::string words =
        sampling.exact
            ? fmt::format("exact, {}", numbered(instructions, "instruction"))
            : fmt::format("{}, {}, {} {}", sampling.mode.empty() ? "mode unknown" : sampling.mode,
                          numbered(sampling.samples, "sample"),
                          short_count(static_cast<double>(instructions)),
                          noun_for(instructions, "instruction"));
    if (side.profile.run.merged_runs != 1)
        words += fmt::format(" of {} runs", side.profile.run.merged_runs);
    return words;
}

std::vector<std::string> matching_words(const Diff& diff) {
    std::array<std::string, 4> lists;  // same build, other build, BASE alone, NEW alone
    for (const MatchedModule& module : diff.modules) {
        const std::size_t list =
            module.in_both() ? (module.same_build ? 0 : 1) : (module.numbers[1].empty() ? 2 : 3);
        lists[list] +=
            fmt::format("{}{}", lists[list].empty() ? "" : ", ", shown_module(module.path));
    }
    std::vector<std::string> words;
    const auto add = [&](std::string_view what, const std::string& list) {
        if (!list.empty()) words.push_back(fmt::format("{}: {}", what, list));
    };
    add("by address, as the build is the same", lists[0]);
    add("by name of function", lists[1]);
    add("only BASE has", lists[2]);
    add("only NEW has", lists[3]);
    const FunctionMatches& f = diff.functions;
    if (f.by_offset + f.by_line + f.by_name + f.only_base + f.only_next > 0)
        words.push_back(
            fmt::format("functions by name: {} of the same code, compared inside by offset; {} of "
                        "other code, by "
                        "source line; {} of other code without lines, as a whole; {} gone, {} new",
                        f.by_offset, f.by_line, f.by_name, f.only_base, f.only_next));
    return words;
}

std::string counts_words(const DiffTable& table) {
    std::string words = fmt::format("{} changed, {} the same", table.changed, table.same);
    if (table.noise > 0) words += fmt::format(", {} within the noise", table.noise);
    if (table.unjudged > 0) words += fmt::format(", {} of unknown error", table.unjudged);
    if (table.unmatched[0] + table.unmatched[1] > 0)
        words += fmt::format("; not matched: {} of BASE, {} of NEW", table.unmatched[0],
                             table.unmatched[1]);
    return words;
}

std::string test_words(const LimitTest& test) {
    const std::string change = test.base > 0   ? relative_text(test.base, test.next)
                               : test.next > 0 ? "new"
                                               : "";
    return fmt::format("{}: {}{}({} -> {}{}{})", test.name, change, change.empty() ? "" : " ",
                       quantity_text(test.unit, test.base), quantity_text(test.unit, test.next),
                       test.unit == DiffUnit::share ? "" : fmt::format(" {}", name(test.unit)),
                       error_words(test));
}

std::string limit_words(const LimitResult& result) {
    if (result.tests.empty()) return "nothing that matches has the share that --min-share asks for";
    if (result.verdict == Verdict::undecidable)
        return fmt::format("{}; {}", result.why, test_words(result.tests.front()));
    if (result.verdict == Verdict::kept)
        return fmt::format("{}{}", result.tested > 1 ? "most: " : "",
                           test_words(result.tests.front()));
    std::string words;
    for (std::size_t i = 0; i < std::min(max_named, result.tests.size()); ++i)
        words += (i == 0 ? "" : "; ") + test_words(result.tests[i]);
    if (result.tests.size() > max_named)
        words += fmt::format("; and {} more", result.tests.size() - max_named);
    return words;
}

}  // namespace shadowprof

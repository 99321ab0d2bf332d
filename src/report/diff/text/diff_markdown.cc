#include <fmt/format.h>

#include "base/text/text_format.h"
#include "report/diff/text/diff_report.h"
#include "report/diff/text/diff_words.h"
#include "report/diff/text/escape.h"

namespace shadowprof {
namespace {

std::string limits_markdown(const DiffReport& report) {
    if (report.limits.empty()) return {};
    std::string text = "\n| limit | verdict | |\n|---|---|---|\n";
    for (const LimitResult& result : report.limits)
        text += fmt::format("| {} | {} | {} |\n", markdown_escaped(result.limit.text),
                            result.verdict == Verdict::exceeded ? "**exceeded**"
                                                                : std::string(name(result.verdict)),
                            markdown_escaped(limit_words(result)));
    return text;
}

std::string totals_markdown(const Diff& diff) {
    if (diff.totals.empty()) return {};
    std::string text = "\n| | base | new | change | |\n|---|---:|---:|---:|---:|\n";
    for (const DiffTotal& total : diff.totals) {
        if (total.is_detail && total.base == total.next) continue;
        const double change = total.next - total.base;
        text += fmt::format("| {} | {:.0f} | {:.0f} | {:+.0f} | {} |\n", total.name, total.base,
                            total.next, change, relative_text(total.base, total.next));
    }
    return text;
}

std::string entry_markdown(const DiffTable& table, const DiffEntry& entry) {
    std::string change = difference_text(table.unit, entry.difference());
    if (entry.error && *entry.error > 0) change += fmt::format(" ± {:.2f}", 100 * *entry.error);
    std::string names = entry.name;
    for (const std::string& more :
         {entry.place.detail, entry.source, std::string(base_name(entry.module))})
        if (!more.empty()) names += ", " + more;
    return fmt::format("| {} | {} | {} | {} | {} |\n", markdown_escaped(names),
                       quantity_text(table.unit, entry.base_or_zero.value),
                       quantity_text(table.unit, entry.next_or_zero.value), change,
                       relative_text(entry));
}

// Shows only changes; the text format also shows noise.
std::string table_markdown(const DiffTable& table, std::size_t top) {
    if (!table.missing.empty() || table.changed == 0) return {};
    std::string text =
        fmt::format("\n<details><summary>{}: {}</summary>\n\n", markdown_escaped(title(table.kind)),
                    markdown_escaped(counts_words(table)));
    text += fmt::format("| | base | new | {} | |\n|---|---:|---:|---:|---:|\n",
                        table.unit == DiffUnit::share ? "points" : "change");
    std::size_t shown = 0;
    for (const DiffEntry& entry : table.entries) {
        if (shown == top || !is_change(entry.judgement)) break;
        text += entry_markdown(table, entry);
        ++shown;
    }
    return text + "\n</details>\n";
}

}  // namespace

std::string diff_markdown(const DiffReport& report) {
    std::string text = "### shadowprof diff\n\n";
    text += fmt::format("base: {} ({})\\\n", markdown_escaped(report.base.path),
                        markdown_escaped(side_words(report.base)));
    text += fmt::format("new: {} ({})\n", markdown_escaped(report.next.path),
                        markdown_escaped(side_words(report.next)));
    text += limits_markdown(report);
    text += totals_markdown(report.diff);
    for (const DiffTable& table : report.diff.tables) text += table_markdown(table, report.top);
    for (const std::string& note : report.diff.notes)
        text += fmt::format("\nNote: {}\n", markdown_escaped(note));
    text += "\n";
    for (const std::string& words : matching_words(report.diff))
        text += fmt::format("- Compared {}\n", markdown_escaped(words));
    return text;
}

std::string github_annotations(const DiffReport& report) {
    std::string text;
    for (const LimitResult& result : report.limits) {
        if (result.verdict == Verdict::kept) continue;
        text += fmt::format("::{} title={}::{}\n",
                            result.verdict == Verdict::exceeded ? "error" : "warning",
                            workflow_property("shadowprof: " + result.limit.text),
                            workflow_message(limit_words(result)));
    }
    return text;
}

}  // namespace shadowprof

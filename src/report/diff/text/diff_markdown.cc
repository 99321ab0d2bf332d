#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/numbered.h"
#include "base/text/text_format.h"
#include "report/diff/text/diff_report.h"
#include "report/diff/text/diff_words.h"
#include "report/diff/text/escape.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

// In columns. Templates of C++ have names of any length.
constexpr std::size_t max_name = 160, max_place = 80, max_sentence = 300;
constexpr std::size_t max_notes = 20;
// For the last line, and for the ends of tables.
constexpr std::size_t reserved_bytes = 400;

// Markdown that is cut between rows when it gets too long.
class CutMarkdown {
  public:
    explicit CutMarkdown(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    // Appends the row that `make` returns, unless it or one before did not fit.
    template <typename MakeRow>
    void add_row(const MakeRow& make) {
        if (is_full_) return leave_out_rows(1);
        const std::size_t cells_cut = cells_cut_;
        const std::string row = make();
        if (text_.size() + row.size() > most_bytes_) {
            cells_cut_ = cells_cut;
            return leave_out_rows(1);
        }
        ++rows_;
        text_ += row;
    }
    // Whether there is room for this and a row.
    bool has_room_for(std::string_view text) const {
        return !is_full_ && text_.size() + text.size() + max_name < most_bytes_;
    }
    // Appends something of bounded length.
    void add(std::string_view text) { text_ += text; }
    // Returns escaped text of at most `width` columns.
    std::string cell(std::string_view text, std::size_t width) {
        cells_cut_ += columns(text) > width;
        return markdown_escaped(fit(text, width));
    }
    void leave_out_rows(std::size_t rows) {
        rows_ += rows;
        rows_cut_ += rows;
        is_full_ = true;
    }
    void leave_out_notes(std::size_t notes) { notes_cut_ += notes; }
    void keep_free(std::size_t bytes) { most_bytes_ -= std::min(most_bytes_, bytes); }

    // Appends what was cut, if anything was.
    std::string take(std::size_t most_bytes) {
        std::vector<std::string> cut;
        if (rows_cut_ != 0)
            cut.push_back(fmt::format("{} of {} left out, as there was room for {} bytes",
                                      rows_cut_, numbered(rows_, "row"), most_bytes));
        if (notes_cut_ != 0) cut.push_back(numbered(notes_cut_, "note") + " left out");
        if (cells_cut_ != 0) cut.push_back(numbered(cells_cut_, "long text") + " shortened");
        if (!cut.empty())
            text_ += fmt::format("\nCut: {}. `--format=json` has all.\n", fmt::join(cut, "; "));
        return std::move(text_);
    }

  private:
    std::size_t most_bytes_;
    std::string text_;
    bool is_full_ = false;
    std::size_t rows_ = 0, rows_cut_ = 0, cells_cut_ = 0, notes_cut_ = 0;
};

void add_limits(const DiffReport& report, CutMarkdown& text) {
    if (report.limits.empty()) return;
    text.add("\n| limit | verdict | |\n|---|---|---|\n");
    for (const LimitResult& result : report.limits)
        text.add_row([&] {
            return fmt::format("| {} | {} | {} |\n", text.cell(result.limit.text, max_name),
                               result.verdict == Verdict::exceeded
                                   ? "**exceeded**"
                                   : std::string(name(result.verdict)),
                               text.cell(limit_words(result), max_sentence));
        });
}

void add_totals(const Diff& diff, CutMarkdown& text) {
    if (diff.totals.empty()) return;
    text.add("\n| | base | new | change | |\n|---|---:|---:|---:|---:|\n");
    for (const DiffTotal& total : diff.totals) {
        if (total.is_detail && total.base == total.next) continue;
        const double change = total.next - total.base;
        text.add_row([&] {
            return fmt::format("| {} | {:.0f} | {:.0f} | {:+.0f} | {} |\n", total.name, total.base,
                               total.next, change, relative_text(total.base, total.next));
        });
    }
}

std::string entry_markdown(const DiffTable& table, const DiffEntry& entry, CutMarkdown& text) {
    std::string change = difference_text(table.unit, entry.difference());
    if (entry.error && *entry.error > 0) change += fmt::format(" ± {:.2f}", 100 * *entry.error);
    std::string names = text.cell(entry.name, max_name);
    for (const std::string& more : {entry.place.detail, entry.source, shown_module(entry.module)})
        if (!more.empty()) names += ", " + text.cell(more, max_place);
    return fmt::format(
        "| {} | {} | {} | {} | {} |\n", names, quantity_text(table.unit, entry.base_or_zero.value),
        quantity_text(table.unit, entry.next_or_zero.value), change, relative_text(entry));
}

// Shows only changes; the text format also shows noise.
void add_table(const DiffTable& table, std::size_t top, CutMarkdown& text) {
    if (!table.missing.empty() || table.changed == 0) return;
    const std::span<const DiffEntry> entries(table.entries);
    const auto end = std::ranges::find_if(
        entries, [](const DiffEntry& entry) { return !is_change(entry.judgement); });
    const auto shown = std::min(top, static_cast<std::size_t>(std::distance(entries.begin(), end)));
    const std::string head = fmt::format(
        "\n<details><summary>{}: {}</summary>\n\n| | base | new | {} | |\n"
        "|---|---:|---:|---:|---:|\n",
        markdown_escaped(title(table.kind)), markdown_escaped(counts_words(table)),
        table.unit == DiffUnit::share ? "points" : "change");
    if (!text.has_room_for(head)) return text.leave_out_rows(shown);
    text.add(head);
    for (const DiffEntry& entry : entries.first(shown))
        text.add_row([&] { return entry_markdown(table, entry, text); });
    text.add("\n</details>\n");
}

// Returns at most `max_notes` notes, and how the profiles were compared.
std::string notes_markdown(const Diff& diff, CutMarkdown& text) {
    std::string notes;
    const auto shown = std::min(diff.notes.size(), max_notes);
    for (const std::string& note : std::span(diff.notes).first(shown))
        notes += fmt::format("\nNote: {}\n", text.cell(note, max_sentence));
    text.leave_out_notes(diff.notes.size() - shown);
    notes += "\n";
    for (const std::string& words : matching_words(diff))
        notes += fmt::format("- Compared {}\n", text.cell(words, max_sentence));
    return notes;
}

}  // namespace

std::string diff_markdown(const DiffReport& report, std::size_t most_bytes) {
    CutMarkdown text(most_bytes);
    const std::string notes = notes_markdown(report.diff, text);
    text.keep_free(reserved_bytes + notes.size());
    text.add("### shadowprof diff\n\n");
    text.add(fmt::format("base: {} ({})\\\n", text.cell(report.base.path, max_sentence),
                         text.cell(side_words(report.base), max_sentence)));
    text.add(fmt::format("new: {} ({})\n", text.cell(report.next.path, max_sentence),
                         text.cell(side_words(report.next), max_sentence)));
    add_limits(report, text);
    add_totals(report.diff, text);
    for (const DiffTable& table : report.diff.tables) add_table(table, report.top, text);
    text.add(notes);
    return text.take(most_bytes);
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

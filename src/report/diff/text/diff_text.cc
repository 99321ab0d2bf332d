#include <fmt/format.h>

#include <algorithm>

#include "base/text/text_format.h"
#include "report/diff/text/diff_report.h"
#include "report/diff/text/diff_words.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

constexpr std::string_view red = "\033[31m", green = "\033[32m", faint = "\033[2m",
                           bold = "\033[1m", plain_text = "\033[0m";

class DiffText {
  public:
    DiffText(const DiffReport& report, const TextOptions& options)
        : report_(report),
          width_(std::max<std::size_t>(options.width, 60)),
          colour_(options.colour) {}

    std::string take() {
        side("base", report_.base);
        side("new", report_.next);
        for (const std::string& words : matching_words(report_.diff)) wrapped("match", words);
        for (const std::string& note : report_.diff.notes) wrapped("note", note);
        if (!report_.diff.totals.empty()) totals();
        for (const DiffTable& table : report_.diff.tables) this->table(table);
        if (!report_.limits.empty()) limits();
        return std::move(text_);
    }

  private:
    void line(std::string_view content, std::string_view colour = {}) {
        if (colour_ && !colour.empty())
            text_ += fmt::format("{}{}{}\n", colour, content, plain_text);
        else
            text_ += fmt::format("{}\n", content);
    }

    void side(std::string_view name, const DiffReportSide& side) {
        wrapped(name, fmt::format("{}: {}", side.path, side_words(side)));
    }

    // Prints a row whose content is continued below itself if it is too long.
    void wrapped(std::string_view head, std::string_view content, std::string_view colour = {}) {
        constexpr std::size_t indent = 10;
        for (const std::string& part : shadowprof::wrapped(printable(content), width_ - indent)) {
            line(pad(head, indent) + part, colour);
            head = {};
        }
    }

    std::string_view colour_of(Judgement judgement, double difference) const {
        if (!is_change(judgement)) return faint;
        return difference > 0 ? red : green;
    }

    void totals() {
        line("");
        std::vector<Row> rows;
        for (const DiffTotal& total : report_.diff.totals) {
            if (total.is_detail && total.base == total.next) continue;
            const double change = total.next - total.base;
            rows.push_back(
                {{quantity_text(DiffUnit::instructions, total.base),
                  quantity_text(DiffUnit::instructions, total.next),
                  difference_text(DiffUnit::instructions, change),
                  relative_text(total.base, total.next)},
                 total.name,
                 change == 0 ? std::string_view{} : colour_of(Judgement::changed, change)});
        }
        show(rows, DiffUnit::instructions);
    }

    void table(const DiffTable& table) {
        // A missing table is mentioned only if it is that of functions.
        if (!table.missing.empty()) {
            if (table.kind == DiffKind::functions)
                wrapped("note", fmt::format("no functions: {}", table.missing));
            return;
        }
        line("");
        line(title(table.kind), bold);
        line(fit(fmt::format("  {}", counts_words(table)), width_));
        std::vector<Row> rows;
        for (const DiffEntry& entry : table.entries) {
            if (rows.size() == report_.top) break;
            if (entry.difference() != 0) rows.push_back(row(table, entry));
        }
        show(rows, table.unit);
    }

    // An entry with its columns of numbers.
    struct Row {
        std::array<std::string, 4> numbers;
        std::string names;
        std::string_view colour;
    };

    Row row(const DiffTable& table, const DiffEntry& entry) const {
        std::string change = difference_text(table.unit, entry.difference());
        if (entry.error && *entry.error > 0) change += fmt::format(" +-{:.2f}", 100 * *entry.error);
        return {{quantity_text(table.unit, entry.base_or_zero.value),
                 quantity_text(table.unit, entry.next_or_zero.value), std::move(change),
                 entry.judgement == Judgement::noise ? "noise" : relative_text(entry)},
                names(table.kind, entry),
                colour_of(entry.judgement, entry.difference())};
    }

    void show(std::vector<Row>& rows, DiffUnit unit) {
        if (rows.empty()) return;
        rows.insert(
            rows.begin(),
            {{"base", "new", unit == DiffUnit::share ? "points" : "change", ""}, "", faint});
        std::array<std::size_t, 4> widths{};
        for (const Row& row : rows)
            for (std::size_t i = 0; i < widths.size(); ++i)
                widths[i] = std::max(widths[i], row.numbers[i].size());
        for (const Row& row : rows) {
            std::string numbers = " ";
            for (std::size_t i = 0; i < widths.size(); ++i)
                numbers += fmt::format(" {:>{}}", row.numbers[i], widths[i]);
            const std::size_t room = width_ - std::min(width_, numbers.size() + 2);
            if (!row.names.empty()) numbers += "  " + fit(row.names, room);
            line(fit(numbers, width_), row.colour);
        }
    }

    std::string names(DiffKind kind, const DiffEntry& entry) const {
        std::string names = shown_name(kind, entry);
        for (const std::string& more :
             {entry.place.detail, entry.source, shown_module(entry.module)})
            if (!more.empty()) names += "  " + printable(more);
        return names;
    }

    void limits() {
        line("");
        line("Limits", bold);
        for (const LimitResult& result : report_.limits)
            wrapped(result.verdict == Verdict::kept       ? "kept"
                    : result.verdict == Verdict::exceeded ? "EXCEEDED"
                                                          : "undecided",
                    fmt::format("{}  {}", result.limit.text, limit_words(result)),
                    result.verdict == Verdict::exceeded ? red : std::string_view{});
    }

    const DiffReport& report_;
    std::size_t width_;
    bool colour_;
    std::string text_;
};

}  // namespace

std::string diff_text(const DiffReport& report, const TextOptions& options) {
    return DiffText(report, options).take();
}

}  // namespace shadowprof

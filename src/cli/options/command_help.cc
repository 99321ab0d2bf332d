#include "cli/options/command_help.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace shadowprof {
namespace {

constexpr std::size_t line_columns = 80;
constexpr std::size_t help_column = 30;  // where the help of an option begins

// Returns "-o", or nothing.
std::string_view short_name(const OptionRow& row) {
    const std::size_t comma = row.names.find(',');
    return std::string_view(row.names).substr(0, comma == std::string::npos ? 0 : comma);
}

// Returns "  -o, --output FILE".
std::string left_side(const OptionRow& row) {
    if (row.is_argument()) return "  " + row.names;
    const std::string_view letter = short_name(row);
    return fmt::format("  {}{}{}{}", letter.empty() ? "    " : fmt::format("{}, ", letter),
                       row.long_name(), row.takes_next_word() ? " " : "", row.value);
}

std::string_view kind_of_value(const OptionRow& row) {
    if (row.takes_list) return "list";
    return row.takes_next_word() ? "value" : "";
}

// Appends one paragraph in lines that begin at column `indent`. The caller has indented the first
// line.
void append_words(std::string& text, std::string_view paragraph, std::size_t indent) {
    std::size_t at = indent;
    while (!paragraph.empty()) {
        const std::string_view word = paragraph.substr(0, paragraph.find(' '));
        paragraph.remove_prefix(std::min(word.size() + 1, paragraph.size()));
        const bool is_first = at == indent;
        if (!is_first && at + 1 + word.size() > line_columns) {
            text += '\n' + std::string(indent, ' ');
            at = indent;
        } else if (!is_first) {
            text += ' ';
            ++at;
        }
        text += word;
        at += word.size();
    }
}

void append_row(std::string& text, const OptionRow& row) {
    const std::string left = left_side(row);
    text += left;
    if (left.size() + 2 > help_column)
        text += '\n' + std::string(help_column, ' ');
    else
        text += std::string(help_column - left.size(), ' ');
    std::string_view help = row.help;
    for (bool is_first = true; !help.empty(); is_first = false) {
        const std::string_view paragraph = help.substr(0, help.find('\n'));
        help.remove_prefix(std::min(paragraph.size() + 1, help.size()));
        if (!is_first) text += '\n' + std::string(help_column, ' ');
        append_words(text, paragraph, help_column);
    }
    text += '\n';
}

}  // namespace

std::string command_help(const CommandUsage& usage, std::span<const OptionRow> rows) {
    std::string text = fmt::format("Usage: shadowprof {} {}\n\n", usage.name, usage.arguments);
    append_words(text, usage.description, 0);
    text += "\n\n";
    for (const OptionRow& row : rows)
        if (row.is_argument()) append_row(text, row);
    if (std::ranges::any_of(rows, &OptionRow::is_argument)) text += '\n';
    text += "Options (defaults are in brackets):\n";
    for (const OptionRow& row : rows)
        if (!row.is_argument()) append_row(text, row);
    if (usage.epilogue.empty()) return text;
    text += '\n';
    append_words(text, usage.epilogue, 0);
    return text + '\n';
}

std::string completion_words(std::span<const OptionRow> rows) {
    std::string text;
    for (const OptionRow& row : rows)
        if (!row.is_argument())
            text += fmt::format("{}\t{}\t{}\t{}\n", row.long_name(), fmt::join(row.words, " "),
                                kind_of_value(row), short_name(row));
    return text;
}

}  // namespace shadowprof

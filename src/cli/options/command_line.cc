#include "cli/options/command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "base/files/put.h"
#include "base/text/suggest.h"
#include "base/text/text_format.h"
#include "cli/terminal/messages.h"

namespace shadowprof {
namespace {

// Whether `name`, such as "-o" or "--output", is a name of the option.
bool is_name_of(const OptionRow& row, std::string_view name) {
    return !row.is_argument() &&
           (name == row.long_name() || name == row.old_name ||
            (name.size() == 2 && row.names.starts_with(name) && row.names[name.size()] == ','));
}

Error missing_value(const OptionRow& row) {
    const std::string words = row.words.empty()
                                  ? ""
                                  : fmt::format(", {} {}", row.takes_list ? "some of" : "one of",
                                                fmt::join(row.words, ", "));
    return {ErrorCode::usage, 0,
            fmt::format("{} needs a value: {}{}", row.long_name(), row.value, words)};
}

}  // namespace

CommandLine::CommandLine(const CommandUsage& usage, std::vector<OptionRow> rows)
    : usage_(usage), rows_(std::move(rows)), app_(std::make_unique<CLI::App>()) {
    rows_.push_back({.names = "-h,--help", .help = "show this text"});
    app_->set_help_flag("");
    for (const OptionRow& row : rows_) {
        if (row.is_argument() || &row == &rows_.back()) continue;
        add(row, row.names, std::string(row.long_name()));
        if (!row.old_name.empty())
            add(row, row.old_name, fmt::format("{} (now {})", row.old_name, row.long_name()));
    }
    // Not by add(), as they hold even behind a bad value.
    add_request("-h,--help", help_);
    add_request("--completion-words", completion_words_);
}
CommandLine::~CommandLine() = default;

// Only the first bad value is reported: a good value behind it must not hide it.
void CommandLine::take(const OptionRow& row, std::string_view value, std::string_view typed) {
    if (failure_) return;
    if (row.is_flag()) {
        if (value == "false") return;
        if (value != no_value) {
            failure_ =
                Error{ErrorCode::usage, 0,
                      fmt::format("{} '{}': must be true or false", typed, printable(value))};
            return;
        }
    }
    if (auto applied = apply(row, value, typed); !applied) failure_ = std::move(applied).error();
}

// `typed` is what messages call the option.
void CommandLine::add(const OptionRow& row, const std::string& names, const std::string& typed) {
    auto* option = app_->add_option_function<std::string>(
        names, [this, &row, typed](const std::string& value) { take(row, value, typed); });
    option->type_name(row.value)->trigger_on_parse();
    if (row.may_go_without_value() || row.is_flag()) option->expected(0);
}

void CommandLine::add_request(const std::string& names, bool& request) {
    app_->add_option_function<std::string>(
            names, [&request](const std::string& value) { request = value != "false"; })
        ->expected(0)
        ->trigger_on_parse();
}

bool CommandLine::has(std::string_view option) const {
    return app_->count(std::string(option)) != 0;
}

const OptionRow* CommandLine::find_row(std::string_view name) const {
    const auto found =
        std::ranges::find_if(rows_, [&](const OptionRow& row) { return is_name_of(row, name); });
    return found == rows_.end() ? nullptr : &*found;
}

// The last of several letters may take the next word, as in "-qo FILE".
const OptionRow* CommandLine::row_of_letters(std::string_view word) const {
    if (!looks_like_option(word) || word[1] == '-') return nullptr;
    for (std::size_t i = 1; i < word.size(); ++i) {
        const OptionRow* row = find_row(fmt::format("-{}", word[i]));
        if (row == nullptr) return nullptr;
        if (row->takes_next_word()) return i + 1 == word.size() ? row : nullptr;
    }
    return nullptr;
}

// CLI11 would take the word behind "--output=" for the value.
std::vector<std::string> CommandLine::with_empty_values(std::span<const std::string> words,
                                                        Options where) {
    std::vector<std::string> result;
    for (auto word = words.begin(); word != words.end(); ++word) {
        if (*word == "--" || (where == Options::before_command && !looks_like_option(*word))) {
            result.insert(result.end(), word, words.end());
            break;
        }
        const std::string name = word->substr(0, word->find('='));
        const bool has_empty_value = name.starts_with("--") && word->size() == name.size() + 1;
        const OptionRow* row = find_row(name);
        if (row == nullptr) row = row_of_letters(*word);
        const bool takes_next = row != nullptr && row->takes_next_word();
        if (takes_next && has_empty_value) {
            result.insert(result.end(), {name, ""});
        } else if (row != nullptr && has_empty_value) {
            take(*row, "", name);
        } else {
            result.push_back(*word);
            // A value is no option, whatever it looks like.
            const bool has_next = std::next(word) != words.end();
            if (takes_next && *word == name && has_next) result.push_back(*++word);
        }
    }
    return result;
}

// Says which value is missing where the last word is an option, or several letters of which the
// last one is.
Error CommandLine::refusal(const std::string& reason, const std::string& last_word) const {
    const OptionRow* row = find_row(last_word);
    if (row == nullptr) row = row_of_letters(last_word);
    if (row != nullptr && row->takes_next_word()) return missing_value(*row);
    return {ErrorCode::usage, 0, printable(reason)};
}

// A request for help hides all errors, as users make it because of one.
Result<void> CommandLine::read(std::span<const std::string> words, Options where) {
    where == Options::anywhere ? app_->allow_extras() : app_->prefix_command();
    std::optional<Error> wrong;
    auto all = with_empty_values(words, where);
    const std::string last = all.empty() ? "" : all.back();
    std::ranges::reverse(all);  // CLI11 takes them from the end
    try {
        app_->parse(std::move(all));
    } catch (const std::exception& error) {
        wrong = refusal(error.what(), last);
    }
    if (asked_text()) return {};
    if (failure_) return *std::move(failure_);
    if (wrong) return *std::move(wrong);
    return {};
}

// Drops the first "--". Behind it, or behind the first argument of a command whose options come
// first, no word is an option.
Result<std::vector<std::string>> CommandLine::arguments(std::vector<std::string> rest,
                                                        Options where) const {
    auto options_end = std::ranges::find(rest, "--");
    if (where == Options::before_command)
        options_end = std::min(options_end, std::ranges::find_if_not(rest, looks_like_option));
    const auto unknown = std::find_if(rest.begin(), options_end, looks_like_option);
    if (unknown != options_end) return unknown_option(*unknown);
    if (options_end != rest.end() && *options_end == "--") rest.erase(options_end);
    return rest;
}

Result<void> CommandLine::take_arguments(const std::vector<std::string>& rest) {
    auto next = rest.cbegin();
    for (const OptionRow& row : rows_) {
        if (!row.is_argument()) continue;
        using enum OptionRow::Argument;
        if (next == rest.cend() && (row.argument == required || row.argument == one_or_more))
            return Error{ErrorCode::usage, 0, fmt::format("{} is required", row.names)};
        const bool takes_all = row.argument == one_or_more || row.argument == any_number;
        for (; next != rest.cend(); ++next) {
            TRY(apply(row, *next, row.names));
            if (!takes_all) {
                ++next;
                break;
            }
        }
    }
    if (next == rest.cend()) return {};
    return Error{ErrorCode::usage, 0,
                 fmt::format("'{}' is one argument too many", printable(*next))};
}

Result<void> CommandLine::check_required() const {
    for (const OptionRow& row : rows_)
        if (row.required && !has(row.long_name()))
            return Error{ErrorCode::usage, 0, fmt::format("{} is required", row.long_name())};
    return {};
}

std::optional<int> CommandLine::parse(std::span<const std::string> words, int usage_status,
                                      Options where) {
    auto done = read(words, where);
    if (const auto text = asked_text()) return put(stdout, *text), 0;
    if (done) {
        auto rest = arguments(app_->remaining(), where);
        done = rest ? take_arguments(*rest) : std::move(rest).error();
    }
    if (done) done = check_required();
    if (done) return std::nullopt;
    say("{}: {}", usage_.name, done.error().message);
    say("try 'shadowprof {} --help'", usage_.name);
    return usage_status;
}

Result<std::vector<std::string>> CommandLine::parse_options(std::span<const std::string> words,
                                                            Options where) {
    TRY(read(words, where));
    return app_->remaining();
}

std::optional<std::string> CommandLine::asked_text() const {
    if (help_) return command_help(usage_, rows_);
    if (completion_words_) return completion_words(rows_);
    return std::nullopt;
}

Error CommandLine::unknown_option(std::string_view word) const {
    const std::string_view name = word.substr(0, word.find('='));
    const bool is_dashes = name.find_first_not_of('-') == std::string_view::npos;
    const std::string_view typed = is_dashes ? word : name;
    std::vector<std::string_view> names;
    for (const OptionRow& row : rows_)
        for (const std::string_view each : {row.long_name(), std::string_view(row.old_name)})
            if (each.starts_with('-')) names.push_back(each);
    std::string_view near = nearest(typed, names);
    for (const OptionRow& row : rows_)
        if (!near.empty() && near == row.old_name) near = row.long_name();
    return {ErrorCode::usage, 0,
            near.empty()
                ? fmt::format("unknown option '{}'", printable(typed))
                : fmt::format("unknown option '{}'; did you mean '{}'?", printable(typed), near)};
}

}  // namespace shadowprof

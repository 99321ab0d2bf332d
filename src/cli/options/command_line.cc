#include "cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdint>

#include "base/files/put.h"
#include "base/text/suggest.h"
#include "base/text/text_format.h"
#include "cli/terminal/messages.h"

namespace shadowprof {

CommandLine::CommandLine(const CommandUsage& usage, std::vector<OptionRow> rows)
    : usage_(usage), rows_(std::move(rows)), app_(std::make_unique<CLI::App>()) {
    rows_.push_back({.names = "-h,--help", .help = "show this text", .set = set_flag(help_)});
    app_->set_help_flag("");
    for (const OptionRow& row : rows_) add(row);
    app_->add_flag_function("--completion-words",
                            [this](std::int64_t) { completion_words_ = true; })
        ->trigger_on_parse();
}
CommandLine::~CommandLine() = default;

// Only the first bad value is reported: a good value behind it must not hide it.
void CommandLine::take(const OptionRow& row, std::string_view value) {
    if (failure_) return;
    if (auto applied = apply(row, value); !applied) failure_ = std::move(applied).error();
}

void CommandLine::add(const OptionRow& row) {
    if (row.is_flag()) {
        app_->add_flag_function(row.names, [this, &row](std::int64_t) { take(row, ""); })
            ->trigger_on_parse();
        return;
    }
    if (row.argument == OptionRow::Argument::one_or_more) {
        const auto take_all = [this, &row](const std::vector<std::string>& values) {
            for (const std::string& value : values) take(row, value);
        };
        app_->add_option_function<std::vector<std::string>>(row.names, take_all)->required();
        return;
    }
    const std::string names = row.old_name.empty() ? row.names : row.names + ',' + row.old_name;
    auto* option = app_->add_option_function<std::string>(
        names, [this, &row](const std::string& value) { take(row, value); });
    option->required(row.required || row.argument == OptionRow::Argument::required);
    if (row.is_argument()) return;
    option->type_name(row.value)->trigger_on_parse();
    if (row.may_go_without_value()) option->expected(0);
}

bool CommandLine::has(std::string_view option) const {
    return app_->count(std::string(option)) != 0;
}

Result<void> CommandLine::read(std::span<const std::string> words) {
    try {
        // CLI11 expects the words in reverse order.
        app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
        if (!failure_ && !asked_text()) return Error{ErrorCode::usage, 0, error.what()};
    }
    if (failure_) return *std::move(failure_);
    return {};
}

std::optional<int> CommandLine::parse(std::span<const std::string> words, int usage_status,
                                      bool options_first) {
    if (options_first) {
        app_->positionals_at_end();
        app_->prefix_command();
    }
    app_->allow_extras();
    auto done = read(words);
    if (const auto text = asked_text(); done && text) return put(stdout, *text), 0;
    const auto rest = app_->remaining();
    if (done && !options_first && !rest.empty())
        done = rest.front().starts_with('-')
                   ? unknown_option(rest.front())
                   : Error{ErrorCode::usage, 0,
                           fmt::format("'{}' is one argument too many", printable(rest.front()))};
    if (done) return std::nullopt;
    say("{}: {}", usage_.name, done.error().message);
    say("try 'shadowprof {} --help'", usage_.name);
    return usage_status;
}

Result<std::vector<std::string>> CommandLine::parse_options(std::span<const std::string> words,
                                                            Options options) {
    options == Options::anywhere ? app_->allow_extras() : app_->prefix_command();
    TRY(read(words));
    return app_->remaining();
}

std::optional<std::string> CommandLine::asked_text() const {
    if (help_) return command_help(usage_, rows_);
    if (completion_words_) return completion_words(rows_);
    return std::nullopt;
}

Error CommandLine::unknown_option(std::string_view word) const {
    const std::string_view typed = word.substr(0, word.find('='));
    std::vector<std::string_view> names;
    for (const OptionRow& row : rows_) names.push_back(row.long_name());
    const std::string_view near = nearest(typed, names);
    return {ErrorCode::usage, 0,
            near.empty()
                ? fmt::format("unknown option '{}'", printable(typed))
                : fmt::format("unknown option '{}'; did you mean '{}'?", printable(typed), near)};
}

}  // namespace shadowprof

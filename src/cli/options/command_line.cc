#include "cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>

#include "base/files/put.h"
#include "cli/terminal/exit_status.h"
#include "cli/terminal/messages.h"

namespace shadowprof {
namespace {

// CLI11 takes them from the end.
std::vector<std::string> reversed(std::span<const std::string> words) {
    return {words.rbegin(), words.rend()};
}

}  // namespace

CommandOption& CommandOption::required() {
    option_->required();
    return *this;
}
CommandOption& CommandOption::value_name(const std::string& name) {
    option_->type_name(name);
    return *this;
}
CommandOption& CommandOption::show_default() {
    option_->capture_default_str();
    return *this;
}
CommandOption& CommandOption::one_value_each() {
    option_->allow_extra_args(false);
    return *this;
}
CommandOption& CommandOption::comma_separated() {
    option_->delimiter(',');
    return *this;
}
CommandOption& CommandOption::value_may_be_missing() {
    option_->expected(0);
    return *this;
}
CommandOption& CommandOption::needs(const CommandOption& other) {
    option_->needs(other.option_);
    return *this;
}
CommandOption::operator bool() const {
    return option_->count() != 0;
}

CommandLine::CommandLine() : app_(std::make_unique<CLI::App>()) {
    app_->set_help_flag("");
}
CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {}
CommandLine::~CommandLine() = default;

CommandOption CommandLine::flag(const std::string& names, bool& into, const std::string& help) {
    return CommandOption(*app_->add_flag(names, into, help));
}
CommandOption CommandLine::text(const std::string& names, std::string& into,
                                const std::string& help) {
    return CommandOption(*app_->add_option(names, into, help));
}
CommandOption CommandLine::texts(const std::string& names, std::vector<std::string>& into,
                                 const std::string& help) {
    return CommandOption(*app_->add_option(names, into, help));
}
CommandOption CommandLine::count(const std::string& names, std::size_t& into,
                                 const std::string& help) {
    return CommandOption(*app_->add_option(names, into, help));
}
CommandOption CommandLine::choice(const std::string& names, std::size_t& into,
                                  std::span<const std::string_view> words,
                                  const std::string& help) {
    std::map<std::string, std::size_t> numbers;
    for (std::size_t i = 0; i < words.size(); ++i) numbers.emplace(words[i], i);
    auto* option = app_->add_option(names, into, help);
    option->transform(CLI::CheckedTransformer(numbers, CLI::ignore_case).description(""));
    return CommandOption(*option);
}

void CommandLine::on_flag(const std::string& names, const std::function<void()>& function) {
    app_->add_flag_function(names, [function](std::int64_t) { function(); })->trigger_on_parse();
}
CommandOption CommandLine::on_text(const std::string& names, const Function& function) {
    return CommandOption(
        *app_->add_option_function<std::string>(names, function)->trigger_on_parse());
}

void CommandLine::end_options_at_argument() {
    app_->positionals_at_end();
    app_->prefix_command();
}

std::optional<int> CommandLine::parse(std::string_view command,
                                      std::span<const std::string> words) {
    try {
        app_->parse(reversed(words));
    } catch (const CLI::CallForHelp&) {
        put(stdout, app_->help());
        return 0;
    } catch (const CLI::ParseError& error) {
        say("{}: {}", command, error.what());
        return exit_own_failure;
    }
    return std::nullopt;
}

Result<std::vector<std::string>> CommandLine::parse_options(std::span<const std::string> words,
                                                            Options options) {
    options == Options::anywhere ? app_->allow_extras() : app_->prefix_command();
    try {
        app_->parse(reversed(words));
    } catch (const CLI::ParseError& error) {
        return Error{ErrorCode::usage, 0, error.what()};
    }
    return app_->remaining();
}

}  // namespace shadowprof

// The words of a subcommand: which options and arguments it has, and what they are told to. CLI11
// is behind it, which takes seconds to compile: command_line.cc alone includes it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shadowprof {

// An option or argument of a CommandLine, good as long as that lives.
class CommandOption {
  public:
    explicit CommandOption(CLI::Option& option) : option_(&option) {}

    CommandOption& required();
    // Help shows this name for the value.
    CommandOption& value_name(const std::string& name);
    // Help shows the default value.
    CommandOption& show_default();
    // Takes one value each time it is given, not all words that follow.
    CommandOption& one_value_each();
    CommandOption& comma_separated();
    // It may be given without a value, and stands for "true" then.
    CommandOption& value_may_be_missing();
    CommandOption& needs(const CommandOption& other);

    // Whether it was given.
    explicit operator bool() const;

  private:
    CLI::Option* option_;
};

class CommandLine {
  public:
    using Function = std::function<void(const std::string& value)>;

    // Without option for help, which the caller adds if it wants one.
    CommandLine();
    // With --help, which shows `description`, and `name` as what the command is called by.
    CommandLine(const std::string& description, const std::string& name);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    // `names` are "-o,--output" for an option and "PROFILE" for an argument. What is filled must
    // live as long as the CommandLine.
    CommandOption flag(const std::string& names, bool& into, const std::string& help);
    CommandOption text(const std::string& names, std::string& into, const std::string& help);
    CommandOption texts(const std::string& names, std::vector<std::string>& into,
                        const std::string& help);
    CommandOption count(const std::string& names, std::size_t& into, const std::string& help);
    // One of `words`, in upper or lower case: `into` is which.
    CommandOption choice(const std::string& names, std::size_t& into,
                         std::span<const std::string_view> words, const std::string& help);
    // Call a function for each time that the option is given, in the order of the words.
    void on_flag(const std::string& names, const std::function<void()>& function);
    CommandOption on_text(const std::string& names, const Function& function);
    // Behind the first argument, everything belongs to it.
    void end_options_at_argument();

    // The exit status if the command is thereby done: help was asked for and printed, or the words
    // are wrong and that was said, behind the name of the command.
    std::optional<int> parse(std::string_view command, std::span<const std::string> words);

    // Which words are options: those before the first that is none, or all that look like it.
    enum class Options { before_command, anywhere };
    // Returns the words that are no options. Errors: usage.
    Result<std::vector<std::string>> parse_options(std::span<const std::string> words,
                                                   Options options);

  private:
    std::unique_ptr<CLI::App> app_;
};

}  // namespace shadowprof

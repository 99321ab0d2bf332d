// Reading the words of a command by the rows of its options. CLI11 is behind it, which takes
// seconds to compile: command_line.cc alone includes it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/command_help.h"
#include "cli/options/option_row.h"

namespace CLI {
class App;
}  // namespace CLI

namespace shadowprof {

class CommandLine {
  public:
    // Adds --help to the rows.
    CommandLine(const CommandUsage& usage, std::vector<OptionRow> rows);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    // Whether an option was given, by its long name.
    bool has(std::string_view option) const;

    // Reads all words. Returns the exit status if the command is thereby done: help was asked for
    // and printed, or the words are wrong, which is printed as well; `usage_status` is for that.
    // With `options_first`, all that follows the first argument belongs to it.
    std::optional<int> parse(std::span<const std::string> words, int usage_status,
                             bool options_first = false);

    // Which words are options: those before the first that is none, or all that look like it.
    enum class Options { before_command, anywhere };
    // Reads options alone and returns the other words. Errors: usage.
    Result<std::vector<std::string>> parse_options(std::span<const std::string> words,
                                                   Options options);
    // The text that the words asked for instead of doing anything: the command's help, or the words
    // to complete it by.
    std::optional<std::string> asked_text() const;

    // The error for a word that looks like an option and is none.
    Error unknown_option(std::string_view word) const;

  private:
    void add(const OptionRow& row);
    void take(const OptionRow& row, std::string_view value);
    Result<void> read(std::span<const std::string> words);

    CommandUsage usage_;
    std::vector<OptionRow> rows_;
    std::unique_ptr<CLI::App> app_;
    std::optional<Error> failure_;  // of the first bad value
    bool help_ = false, completion_words_ = false;
};

}  // namespace shadowprof

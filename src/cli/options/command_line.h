// Parses the words of a command by the rows of its options. CLI11 takes seconds to compile, so only
// command_line.cc includes it.
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
    // Also takes --help, which gets a row, and --completion-words, which help does not show.
    CommandLine(const CommandUsage& usage, std::vector<OptionRow> rows);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    // Whether an option was given; `option` is its long name.
    bool has(std::string_view option) const;

    // Where options may be: only before the first word that is no option, or anywhere before "--".
    enum class Options { before_command, anywhere };

    // Parses all words. Returns nullopt if the command is to go on. Otherwise returns its exit
    // status: 0 after help was asked for and printed, `usage_status` after an error was printed.
    std::optional<int> parse(std::span<const std::string> words, int usage_status,
                             Options where = Options::anywhere);

    // Parses the options alone. Returns the other words, "--" and unknown options among them.
    // Errors: usage.
    Result<std::vector<std::string>> parse_options(std::span<const std::string> words,
                                                   Options options);
    // Returns the words that are left of those that parse_options() returned, without "--". Errors:
    // usage, if one of them is an unknown option.
    Result<std::vector<std::string>> arguments(std::vector<std::string> rest, Options where) const;
    // Returns the text that the words asked for instead of a run: the command's help or its
    // completion words.
    std::optional<std::string> asked_text() const;

    // Returns the error for a word that looks like an option but is none.
    Error unknown_option(std::string_view word) const;

  private:
    void add(const OptionRow& row, const std::string& names, const std::string& typed);
    void take(const OptionRow& row, std::string_view value, std::string_view typed);
    // `name` is "-o" or "--output". Returns null if no option has it.
    const OptionRow* find_row(std::string_view name) const;
    // Returns the option of "-qo" that takes the next word: `-o`. Null if none does.
    const OptionRow* row_of_letters(std::string_view word) const;
    // Returns the words with "--output=" as two words, the second empty. Takes flags with an empty
    // value.
    std::vector<std::string> with_empty_values(std::span<const std::string> words, Options where);
    // Returns the error for words that CLI11 refused.
    Error refusal(const std::string& reason, const std::string& last_word) const;
    Result<void> read(std::span<const std::string> words, Options where);
    void add_request(const std::string& names, bool& request);
    Result<void> take_arguments(const std::vector<std::string>& rest);
    Result<void> check_required() const;

    CommandUsage usage_;
    std::vector<OptionRow> rows_;
    std::unique_ptr<CLI::App> app_;
    std::optional<Error> failure_;  // error of the first bad value
    bool help_ = false, completion_words_ = false;
};

}  // namespace shadowprof

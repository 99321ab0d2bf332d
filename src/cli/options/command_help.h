// What a command says of itself, from the rows of its options.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options/option_row.h"

namespace shadowprof {

struct CommandUsage {
    std::string_view name;       // "diff"
    std::string_view arguments;  // behind the name: "[options] BASE NEW"
    std::string_view description;
    std::string_view epilogue{};  // below the options
};

// The text of --help, in lines of at most 80 columns where words allow it.
std::string command_help(const CommandUsage& usage, std::span<const OptionRow> rows);

// A line for each option: its name, a tab, and the words that its value may be, separated by
// blanks. Shells complete by it: `shadowprof COMMAND --completion-words`.
std::string completion_words(std::span<const OptionRow> rows);

}  // namespace shadowprof

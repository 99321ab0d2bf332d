// The help of a command, made from the rows of its options.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options/option_row.h"

namespace shadowprof {

struct CommandUsage {
    std::string_view name;       // "diff"
    std::string_view arguments;  // what follows the name: "[options] BASE NEW"
    std::string_view description;
    std::string_view epilogue{};  // text below the options
};

// Returns the text of --help. Lines have at most 80 columns, except where a word is longer.
std::string command_help(const CommandUsage& usage, std::span<const OptionRow> rows);

// Returns a line for each option, with tabs between its name, the words that its value may be,
// separated by blanks, "list" if the value may be several of them or "value" if it is the next word
// in other ways, and its short name. Shell completions read it from `shadowprof COMMAND
// --completion-words`.
std::string completion_words(std::span<const OptionRow> rows);

}  // namespace shadowprof

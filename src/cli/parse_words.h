// Parsing the words of a subcommand with few options.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shadowprof {

// Fills what `app` was told to fill. The exit status if the command is thereby done: help was
// asked for and printed, or the words are wrong and that was said.
std::optional<int> parse_words(CLI::App& app, std::string_view command,
                               std::span<const std::string> words);

}  // namespace shadowprof

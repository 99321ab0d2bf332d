// What ran and how it ended, in words.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace shadowprof {

// Joins the words with blanks and makes them printable().
std::string command_text(std::span<const std::string> words);
// "exit status 3", "killed by SIGTERM"; empty if it did not end.
std::string how_it_ended(const std::optional<int>& status, const std::optional<int>& signal);

}  // namespace shadowprof

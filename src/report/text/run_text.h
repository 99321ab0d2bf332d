// What ran and how that ended, in words.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "profile/profile.h"

namespace shadowprof {

// The words with blanks between them, printable().
std::string command_text(std::span<const std::string> words);
// "exit status 3", "killed by SIGTERM"; empty if it did not end.
std::string how_it_ended(const std::optional<int>& status, const std::optional<int>& signal);
// What to know of a profile of so few samples that no errors can be told, and what to do about it;
// empty for others.
std::string few_samples_text(const Profile& profile);

}  // namespace shadowprof

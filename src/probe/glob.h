// Patterns for names.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// Matches bytes as fnmatch(3) without flags: * is any text, ? any character, [a-c_] one of these,
// [!a] any other, and a backslash makes the next character literal. Takes time at most in
// proportion to the product of both lengths. Needs a pattern without glob_error().
bool glob_matches(std::string_view pattern, std::string_view text);

// Returns the offset of a bracket that is not closed, or of a backslash at the end.
std::optional<std::size_t> glob_error(std::string_view pattern);

// Refuses a pattern with a glob_error(). Errors: usage; the message says what is wrong, where, and
// how to write the character itself.
Result<void> check_glob(std::string_view pattern);

}  // namespace shadowprof

// Splits a string into words as a shell does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// Words are separated by blanks and newlines; '...' and "..." quote, a backslash escapes (inside
// "..." only " and \). Nothing is expanded. An unterminated quote or escape is ErrorCode::usage.
Result<std::vector<std::string>> split_words(std::string_view text);

}  // namespace shadowprof

// Patterns for names.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace shadowprof {

// As fnmatch(3) without flags, of bytes: * is any text, ? any character, [a-c_] one of these, [!a]
// any other, and a backslash takes the meaning off what follows. Takes time in proportion to the
// product of both lengths at most, whatever they are. Needs: no glob_error().
bool glob_matches(std::string_view pattern, std::string_view text);

// Where a bracket begins that is not closed, or a backslash is that nothing follows.
std::optional<std::size_t> glob_error(std::string_view pattern);

}  // namespace shadowprof

// The argument PROFILE of commands that read one profile. Without it they read the one that `run`
// writes where no other name is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option_row.h"

namespace shadowprof {

// Where a profile is that nobody has named.
inline constexpr const char* default_profile = "shadowprof.json";

// Returns the argument's row. What is filled must outlive it.
OptionRow profile_argument(std::string& path);
// Returns the row where several may be named; `more` is the help for them.
OptionRow profile_arguments(std::vector<std::string>& paths, std::string_view more);

// Returns the default's name. Errors: usage, if there is no such file; the message says how to get
// one, or how `command` is given another.
Result<std::string> unnamed_profile(std::string_view command);

}  // namespace shadowprof

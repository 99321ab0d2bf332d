// What options are told as: in help, and in a profile.
#pragma once

#include <map>
#include <string>

#include "cli/options/run_request.h"

namespace shadowprof {

// The texts of `shadowprof run --help` and `shadowprof attach --help`.
std::string run_help();
std::string attach_help();

// The options as they were understood, by their long names, for the profile.
std::map<std::string, std::string> describe(const RunRequest& request);

}  // namespace shadowprof

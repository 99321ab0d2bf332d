// The options of `shadowprof run` and `shadowprof attach`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/options/option_row.h"
#include "cli/options/run_request.h"

namespace shadowprof {

// In the order of help. What the options say goes to `request`, which must outlive the rows.
std::vector<OptionRow> run_options(RunRequest& request);

// The options as they were understood, by their long names, for the profile.
std::map<std::string, std::string> describe(const RunRequest& request);

}  // namespace shadowprof

// The options of `shadowprof run` and `shadowprof attach`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/option_row.h"
#include "cli/options/run_request.h"

namespace shadowprof {

// Returns the rows in the order of the help. Setting them fills `request`, which must outlive them.
std::vector<OptionRow> run_options(RunRequest& request);
std::vector<OptionRow> attach_options(RunRequest& request);

// Adds a function within which alone exact mode counts (RunOptions::count_in). Errors: usage.
Result<void> add_counted_function(std::vector<std::string>& functions, std::string_view glob);

// Returns the options as they were understood, by long name, as the profile records them.
std::map<std::string, std::string> describe(const RunRequest& request);

}  // namespace shadowprof

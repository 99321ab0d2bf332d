// The options of `shadowprof run` and `shadowprof attach`, from the command line and from
// SHADOWPROF_OPTIONS.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options/run_request.h"

namespace shadowprof {

// Reads the words behind `run`. `environment` is the value of SHADOWPROF_OPTIONS: its options come
// first, so that the command line wins. Everything behind the first word that is no option, and
// everything behind `--`, belongs to the target.
// Errors: usage, naming the option, the value and what is accepted; unsupported for what a later
// version will do.
Result<RunRequest> parse_run(std::span<const std::string> words, std::string_view environment);

// The same of the words behind `attach`, which are options and one process id in any order.
Result<RunRequest> parse_attach(std::span<const std::string> words, std::string_view environment);

}  // namespace shadowprof

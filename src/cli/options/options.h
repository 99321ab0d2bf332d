// The options of `shadowprof run` and `shadowprof attach`, from the command line and from
// SHADOWPROF_OPTIONS.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options/run_request.h"

namespace shadowprof {

// Parses the words behind `run`. `environment` is the value of SHADOWPROF_OPTIONS. Its options come
// first, so that the command line wins. The target's command begins with the first word that is no
// option, or behind `--`. Errors: usage; the message names the option, the value and what is
// accepted. unsupported for combinations that are not implemented.
Result<RunRequest> parse_run(std::span<const std::string> words, std::string_view environment);

// Parses the words behind `attach`: options and one process id in any order. `environment` and the
// errors are as for parse_run().
Result<RunRequest> parse_attach(std::span<const std::string> words, std::string_view environment);

}  // namespace shadowprof

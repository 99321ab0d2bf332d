// What commands that run a program check first, and how they fail.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/terminal/exit_status.h"

namespace shadowprof {

// Whether there is a program of this name, along PATH if it has no slash, that can be profiled.
Result<void> check_command(const std::string& name);
// The status that a command ends with if check_command() has failed.
int exit_status_of(const Error& error);
// Prints the error of a command. Returns `status`.
int failed(std::string_view command, const Error& error, int status = exit_own_failure);

}  // namespace shadowprof

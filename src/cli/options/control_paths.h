// The value of --control.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

struct ControlPaths {
    std::string commands;
    std::string answers;  // empty: no answers are written
};

// Parses "FILE" or "FILE,ACK", with or without "fifo:" in front. Errors: usage; the message says
// what is accepted.
Result<ControlPaths> parse_control_paths(std::string_view text);

}  // namespace shadowprof

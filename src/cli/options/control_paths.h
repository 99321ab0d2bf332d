// The value of --control.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

struct ControlPaths {
    std::string commands;
    std::string answers;  // empty: nobody wants any
};

// "FILE" or "FILE,ACK", with or without "fifo:" in front. Errors: usage, saying what is accepted.
Result<ControlPaths> parse_control_paths(std::string_view text);

}  // namespace shadowprof

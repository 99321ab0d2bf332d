// The hottest functions of scripts that interpreters execute.
#pragma once

#include <cstdint>
#include <vector>

#include "report/lists/stack_weight.h"

namespace shadowprof {

struct HotScriptFunction {
    CodeLocation at;
    // What was executed for the function itself: by the interpreter, and by what it called for the
    // function. With what the function called, each stack counts once.
    std::uint64_t own = 0, with_callees = 0;
    double own_share = 0, share = 0;  // of all stacks, in [0, 1]
};

// Hottest first by their own amounts. Empty if no scripts are known.
std::vector<HotScriptFunction> hot_scripts(const Profile& profile, StackWeight weight);

}  // namespace shadowprof

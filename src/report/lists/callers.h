// Who calls a function, by functions instead of call sites.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// All calls from one function to another.
struct CallerOfFunction {
    CodeLocation callee;
    CodeLocation site;        // the hottest call site in the caller
    std::uint64_t count = 0;  // calls from the caller
    std::uint64_t all = 0;    // calls of the callee from anywhere
    std::uint64_t sites = 0;  // places in the caller that call it
};

// Returns each pair of functions of the profile's calls once, most calls first.
std::vector<CallerOfFunction> callers_of_functions(const Profile& profile, SymbolSource& symbols);

}  // namespace shadowprof

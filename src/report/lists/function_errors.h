// The errors of functions' instructions and times.
#pragma once

#include <map>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Half the widths of the 95% confidence intervals of what functions executed themselves, by the
// function's start. Functions whose error is unknown are missing.
struct FunctionErrors {
    using ByStart = std::map<CodeLocation, double>;
    ByStart instructions;
    ByStart time_ns;

    const ByStart& of(StackWeight weight) const {
        return weight == StackWeight::time ? time_ns : instructions;
    }
    friend bool operator==(const FunctionErrors&, const FunctionErrors&) = default;
};
// Computes errors from the profile's batches of samples or, if it was read from a file, from its
// methods. Errors of time are computed from the number of looks.
FunctionErrors function_errors(const Profile& profile, SymbolSource& symbols);

}  // namespace shadowprof

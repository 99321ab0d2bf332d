// How far the instructions and the time of functions may lie from the truth.
#pragma once

#include <map>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Half the widths of the 95% confidence intervals of what functions executed themselves, by the
// start of the function. Without those functions of which no error is known.
struct FunctionErrors {
    using ByStart = std::map<CodeLocation, double>;
    ByStart instructions;
    ByStart time_ns;

    const ByStart& of(StackWeight weight) const {
        return weight == StackWeight::time ? time_ns : instructions;
    }
    friend bool operator==(const FunctionErrors&, const FunctionErrors&) = default;
};
// From the profile's batches of samples, or where it comes from a file, from its methods; of time,
// from the ticks of the kernel's clock where there was one.
FunctionErrors function_errors(const Profile& profile, SymbolSource& symbols);

}  // namespace shadowprof

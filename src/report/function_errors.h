// How far the instructions of functions may lie from the truth.
#pragma once

#include <map>

#include "report/symbol_source.h"

namespace shadowprof {

// Half the widths of the 95% confidence intervals of the instructions that functions executed
// themselves, by the start of the function. From the profile's batches of samples, or where it
// comes from a file, from its methods. Without those functions of which no error is known.
std::map<CodeLocation, double> function_errors(const Profile& profile, SymbolSource& symbols);

}  // namespace shadowprof

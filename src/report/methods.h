// The method profile: entries, loops and instructions by function.
#pragma once

#include <vector>

#include "report/symbol_source.h"

namespace shadowprof {

// Derived from call pairs (or call edges, in bursts and where there are no pairs), backward edges
// within a function, and stacks; hottest first. Needs function bounds from `symbols`: callees whose
// bounds are unknown are methods of their own, other code of that kind is left out.
std::vector<Method> derive_methods(const Profile& profile, SymbolSource& symbols);

}  // namespace shadowprof

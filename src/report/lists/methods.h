// The method profile: entries, loops and instructions by function.
#pragma once

#include <optional>
#include <vector>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Derives methods from stacks and from edges or, without them, from call pairs; hottest first.
// Needs function bounds from `symbols`. Callees without known bounds are methods of their own;
// other code without them is left out.
std::vector<Method> derive_methods(const Profile& profile, SymbolSource& symbols);

// How often control entered the function at `at`.
struct FunctionEntry {
    CodeLocation at;
    std::uint64_t count = 0;
    std::optional<double> error;
};
// Returns all entries of functions, in the order of the edges: calls into them, and branches of any
// kind from other functions to their first instruction. Tail calls and procedure linkage tables
// enter by jumps, retpolines by returns. A conditional branch that is not taken counts as well.
// Without edges only calls are known, in their order.
std::vector<FunctionEntry> function_entries(const Profile& profile, SymbolSource& symbols);

}  // namespace shadowprof

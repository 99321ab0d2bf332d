// A profile on one screen of a terminal.
#pragma once

#include <cstdio>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"
#include "report/text/text_page.h"

namespace shadowprof {

// At most 50 lines, none wider than asked for: what ran, what was sampled and what that cost, the
// hottest functions, paths and branches, what values are invariant, system calls, notes. Parts that
// the profile has nothing about are left out. Functions are ordered by `weight`, which needs
// check_weight(). The caller flushes and looks at ferror().
void print_summary(const Profile& profile, SymbolSource& symbols, const TextOptions& options,
                   std::FILE* out, StackWeight weight = StackWeight::instructions);

}  // namespace shadowprof

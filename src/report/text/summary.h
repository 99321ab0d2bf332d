// Prints a profile on one screen of a terminal.
#pragma once

#include <cstdio>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"
#include "report/text/text_page.h"

namespace shadowprof {

// Prints at most 50 lines, none wider than `options` allow: what ran, what was sampled and its
// cost, the hottest functions, paths and branches, invariant values, system calls, notes. Parts
// without content are left out. Functions are ordered by `weight`, which needs check_weight(). The
// caller flushes `out` and checks ferror().
void print_summary(const Profile& profile, SymbolSource& symbols, const TextOptions& options,
                   std::FILE* out, StackWeight weight = StackWeight::instructions);

}  // namespace shadowprof

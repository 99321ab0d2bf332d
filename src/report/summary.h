// A profile on one screen of a terminal.
#pragma once

#include <cstdio>

#include "report/symbol_source.h"
#include "report/text/text_page.h"

namespace shadowprof {

// At most 50 lines, none wider than asked for: what ran, what was sampled and what that cost, the
// hottest functions, paths and branches, what values are invariant, system calls, notes. Parts that
// the profile has nothing about are left out. The caller flushes and looks at ferror().
void print_summary(const Profile& profile, SymbolSource& symbols, const TextOptions& options,
                   std::FILE* out);

}  // namespace shadowprof

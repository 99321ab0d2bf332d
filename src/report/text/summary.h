// Prints a profile on one screen of a terminal.
#pragma once

#include <cstdio>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"
#include "report/text/text_page.h"

namespace shadowprof {

struct SummaryRequest {
    StackWeight weight = StackWeight::instructions;  // of functions, see choose_weight()
    bool is_verbose = false;  // with how samples were taken, and what each part cost
};

// Prints at most 50 lines, none wider than `options` allow: what ran, what is known of it and what
// that cost, the hottest functions, paths and branches, invariant values, system calls, notes.
// Parts without content are left out. The caller flushes `out` and checks ferror().
void print_summary(const Profile& profile, SymbolSource& symbols, const SummaryRequest& request,
                   const TextOptions& options, std::FILE* out);

}  // namespace shadowprof

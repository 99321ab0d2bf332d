// What is hottest in a run that still goes on, for a screen that is drawn again and again.
#pragma once

#include <string>
#include <vector>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

struct LivePage {
    std::size_t width = 80, height = 24;  // of the screen, in columns and lines
    bool colour = false;                  // SGR escape sequences
    double period_seconds = 1;            // from one drawing to the next
};

// Returns at most `height` lines, none wider than the screen: what runs, how much was sampled and
// at what cost, processes and threads if there are several, and as many of the hottest functions as
// there is room for.
std::vector<std::string> live_lines(const Profile& profile, SymbolSource& symbols,
                                    const LivePage& page);

}  // namespace shadowprof

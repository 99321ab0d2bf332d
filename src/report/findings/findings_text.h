// Prints findings on a terminal.
#pragma once

#include <span>

#include "report/findings/finding.h"
#include "report/symbols/symbol_source.h"
#include "report/text/text_page.h"

namespace shadowprof {

// Prints the first `top` findings, or all if it is 0. Prints a line if there are none.
void print_findings(std::span<const Finding> findings, const Profile& profile,
                    SymbolSource& symbols, std::size_t top, TextPage& page);

// "12.3% of instructions": the most that can be gained.
std::string at_stake_text(const Finding& finding);

}  // namespace shadowprof

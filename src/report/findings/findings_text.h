// Findings as lines on a terminal.
#pragma once

#include <span>

#include "report/findings/finding.h"
#include "report/symbols/symbol_source.h"
#include "report/text/text_page.h"

namespace shadowprof {

// The first `top` of them, or all if it is 0. Says so if there are none.
void print_findings(std::span<const Finding> findings, const Profile& profile,
                    SymbolSource& symbols, std::size_t top, TextPage& page);

// "12.3% of instructions": what it may win at most.
std::string at_stake_text(const Finding& finding);

}  // namespace shadowprof

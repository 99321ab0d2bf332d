#include "report/findings/findings_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text_format.h"
#include "report/symbols/location_name.h"
#include "report/text/facts_text.h"

namespace shadowprof {

std::string at_stake_text(const Finding& finding) {
    return fmt::format(
        "{} of {}", percent(finding.at_stake),
        finding.stake == Stake::instructions ? "instructions" : "cycles lost to misses");
}

void print_findings(std::span<const Finding> findings, const Profile& profile,
                    SymbolSource& symbols, std::size_t top, TextPage& page) {
    page.title("Findings, by what is at stake at most; those in the system's libraries last");
    if (findings.empty())
        page.line("  none: nothing is certain enough, or values, edges and stacks are missing");
    const std::size_t shown = top == 0 ? findings.size() : std::min(top, findings.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const Finding& each = findings[i];
        const auto& row = finding_kinds[static_cast<std::size_t>(each.kind)];
        page.line(fmt::format("{:>3}. {}: {}", i + 1, row.name, each.what),
                  source_name(symbols.symbol(each.at)));
        page.line(fmt::format("     {}; holds for {} at least: {}", at_stake_text(each),
                              percent(each.share), row.advice));
        for (const std::string& line : each.evidence)
            page.line(fmt::format("       {}", line),
                      &line == &each.evidence.front()
                          ? location_name(profile.modules, symbols, each.at)
                          : "");
    }
    if (shown < findings.size()) page.line(fmt::format("  and {} more", findings.size() - shown));
}

}  // namespace shadowprof

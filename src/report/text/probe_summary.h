// The results of probes, as lines of the summary.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// "Probe div, hotlist: 12.3 k hits, 4 missed".
std::string probe_title(const ProbeProfile& probe);

// Returns a line for each of the hottest `most` keys or, for a hotlist without keys, values. Keys
// take `key_width` columns. Returns nothing for a probe whose title says everything.
std::vector<std::string> probe_lines(const ProbeProfile& probe, const std::vector<Module>& modules,
                                     SymbolSource& symbols, std::size_t most,
                                     std::size_t key_width);

}  // namespace shadowprof

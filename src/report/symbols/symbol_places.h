// Finds where the place tests of probes hold, by the symbols and line tables of the program's
// files.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "probe/probe.h"
#include "report/symbols/module_symbols.h"

namespace shadowprof {

// A range of a module's addresses at which the same tests hold.
struct ModulePlaces {
    std::uint64_t start = 0, end = 0;
    std::uint64_t place_bits = 0;  // see ProbeSet; not 0
};

// Returns all ranges in `symbols` at which a test holds, by ascending address, without overlaps.
// `path` is the module's. Line tables are read only for functions for which the rest of a condition
// does not decide it.
std::vector<ModulePlaces> find_places(const ProbeSet& probes, const std::string& path,
                                      ModuleSymbols& symbols);

}  // namespace shadowprof

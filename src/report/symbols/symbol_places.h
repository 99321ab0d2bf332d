// Where the place tests of probes hold, by the symbols and line tables of the program's files.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "probe/probe.h"
#include "report/symbols/module_symbols.h"

namespace shadowprof {

// Addresses of a module at which the same tests hold.
struct ModulePlaces {
    std::uint64_t start = 0, end = 0;
    std::uint64_t place_bits = 0;  // see ProbeSet; not 0
};

// Everything in `symbols` at which a test holds, by rising address, without overlaps. `path` is the
// module's. Line tables are read only of functions of which the rest of a condition leaves it open.
std::vector<ModulePlaces> find_places(const ProbeSet& probes, const std::string& path,
                                      ModuleSymbols& symbols);

}  // namespace shadowprof

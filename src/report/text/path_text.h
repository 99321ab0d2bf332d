// A path on one line.
#pragma once

#include <string>
#include <vector>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Returns the blocks of a path as functions. Adjacent blocks of one function become
// "f+0x10..+0x5c", and steps between functions " -> ". If that takes more than `width` columns,
// steps in the middle are left out: "f -> .. 3 .. -> g".
std::string path_text(const std::vector<CodeLocation>& blocks, const std::vector<Module>& modules,
                      SymbolSource& symbols, std::size_t width);

}  // namespace shadowprof

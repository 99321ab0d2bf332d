// A path in a line.
#pragma once

#include <string>
#include <vector>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

// The blocks of a path as the functions that they run through: blocks of one function that follow
// each other become "f+0x10..+0x5c", and steps from function to function " -> ". Where that takes
// more than `width` columns, steps in the middle are left out: "f -> .. 3 .. -> g".
std::string path_text(const std::vector<CodeLocation>& blocks, const std::vector<Module>& modules,
                      SymbolSource& symbols, std::size_t width);

}  // namespace shadowprof

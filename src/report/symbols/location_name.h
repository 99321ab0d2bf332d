// Locations for people to read.
#pragma once

#include <string>
#include <vector>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

// The base name of a module's file; "?" if there is no such module.
std::string module_name(const std::vector<Module>& modules, std::uint32_t index);

// "deflate_fast+0x40" (without the offset at its start), or "gzip+0x4a10" where no function is
// known, with the file's base name and the ELF address. Arguments of C++ functions are left out.
std::string location_name(const std::vector<Module>& modules, SymbolSource& symbols,
                          CodeLocation location);

// The function around `location`, or for code without a name "gzip+0x4a10", its first address, or
// "gzip" if not even that is known.
std::string function_name(const std::vector<Module>& modules, SymbolSource& symbols,
                          CodeLocation location);

// "deflate.c:412"; empty if unknown.
std::string source_name(const CodeSymbol& symbol);

// A demangled C++ name without its argument list: "std::vector<int>::push_back".
std::string without_arguments(std::string_view function);

}  // namespace shadowprof

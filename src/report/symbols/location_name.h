// Readable names of locations.
#pragma once

#include <string>
#include <vector>

#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Returns the name of a module in reports: the base name of its file. Code without a file is
// "[jit]", or "[jit 4711]" in another process than the first, since just-in-time compilers make it.
std::string shown_module(std::string_view path);

// Whether a user who writes `name` means the module: by its path, its file's name or
// shown_module().
bool is_module_called(std::string_view path, std::string_view name);

// shown_module() of a module; "?" if there is no such module.
std::string module_name(const std::vector<Module>& modules, std::uint32_t index);

// Returns "deflate_fast+0x40", without the offset at the function's start, or "gzip+0x4a10", the
// file's base name and the ELF address, if no function is known. Arguments of C++ functions are
// left out.
std::string location_name(const std::vector<Module>& modules, SymbolSource& symbols,
                          CodeLocation location);

// Returns the name of the function around `location`. Code without a name is "gzip+0x4a10", its
// first address, or "gzip" if that is unknown.
std::string function_name(const std::vector<Module>& modules, SymbolSource& symbols,
                          CodeLocation location);

// "deflate.c:412"; empty if unknown.
std::string source_name(const CodeSymbol& symbol);

// Removes the argument list from the end of a demangled name: "std::vector<int>::push_back".
// Parentheses inside a name stay: "fmt.(*fmt).fmtInteger", "operator()".
std::string without_arguments(std::string_view function);

}  // namespace shadowprof

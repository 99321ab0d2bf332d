// Executions by source line relative to functions: the matter of profiles that compilers read.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "report/export/export.h"
#include "report/symbols/module_symbols.h"

namespace shadowprof {

// A line in a function, as LLVM knows it again in the source.
struct LineInFunction {
    std::uint32_t offset = 0;         // from the function's declaration
    std::uint32_t discriminator = 0;  // the base discriminator

    friend auto operator<=>(const LineInFunction&, const LineInFunction&) = default;
};

struct SampleLine {
    std::uint64_t executions = 0;  // the most that any instruction of the line has
    std::map<std::string_view, std::uint64_t> calls;  // by the callee's linkage name
};

// A function, or a copy of it that was inlined.
struct SampleBody {
    std::uint64_t instructions = 0;  // executed in it, what was inlined into it included
    std::uint64_t entries = 0;       // of functions
    std::map<LineInFunction, SampleLine> lines;
    std::map<LineInFunction, std::map<std::string_view, SampleBody>> inlined;
};

// By linkage name. Names are in the pool of `symbols`' module.
using SampleBodies = std::map<std::string_view, SampleBody>;

// Makes the bodies for ExportInput::module. Needs the `symbols` that describe this module, and its
// own `file`. Functions that have no declaration line in DWARF, or no name that the text format can
// hold, are left out.
SampleBodies sample_bodies(const ExportInput& input, const ElfFile& file, ModuleSymbols& symbols);

}  // namespace shadowprof

// Executions by source line relative to functions, for profiles that compilers read.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "report/export/export.h"
#include "report/symbols/module_symbols.h"

namespace shadowprof {

// A line in a function, in the form by which LLVM finds it in the source.
struct LineInFunction {
    std::uint32_t offset = 0;         // from the function's declaration
    std::uint32_t discriminator = 0;  // the base discriminator

    friend auto operator<=>(const LineInFunction&, const LineInFunction&) = default;
};

struct SampleLine {
    std::uint64_t executions = 0;                     // the maximum over the line's instructions
    std::map<std::string_view, std::uint64_t> calls;  // by the callee's linkage name
};

// A function, or a copy of it that was inlined.
struct SampleBody {
    std::uint64_t instructions = 0;  // executed in it, including inlined code
    std::uint64_t entries = 0;       // for functions
    std::map<LineInFunction, SampleLine> lines;
    std::map<LineInFunction, std::map<std::string_view, SampleBody>> inlined;
};

// By linkage name. Names are in the pool of `symbols`' module.
using SampleBodies = std::map<std::string_view, SampleBody>;

// Computes the bodies for ExportInput::module. Needs its file and the `symbols` that describe it.
// Functions without a declaration line in DWARF, or without a name that the text format can hold,
// are left out.
SampleBodies sample_bodies(const ExportInput& input, const ElfFile& file, ModuleSymbols& symbols);

}  // namespace shadowprof

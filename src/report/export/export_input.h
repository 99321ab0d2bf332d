// The input of an export.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

inline constexpr std::string_view default_csv_table = "functions";

// What a callgrind file has.
struct CallgrindDetails {
    bool instructions = true;  // costs of each instruction; else of each line
    bool lines = true;         // the lines of costs
    bool jumps = true;
    bool compresses_names = true;
    // Whether code of procedure linkage tables counts for those that call through it.
    bool skips_linkage_tables = false;
};

// What the views refer to must outlive them.
struct ExportInput {
    const Profile& profile;
    SymbolSource& symbols;
    std::optional<std::uint32_t> module = {};    // for formats about one module
    std::string_view table = default_csv_table;  // for `csv`: the table to write
    // The weight of stacks, for formats with one number per stack.
    StackWeight weight = StackWeight::instructions;
    CallgrindDetails callgrind = {};
    // For formats of several parts: those behind this one.
    std::span<const ExportInput> more_parts = {};
};

}  // namespace shadowprof

// What an export is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Views live as long as what they were made of.
struct ExportInput {
    const Profile& profile;
    SymbolSource& symbols;
    std::optional<std::uint32_t> module = {};  // of formats that are about one: which
    std::string_view table = "functions";      // of `csv`: which
    // What stacks are weighed by. Only for formats of stacks that have one number for each.
    StackWeight weight = StackWeight::instructions;
};

}  // namespace shadowprof

#include "report/symbols/merged_symbols.h"

namespace shadowprof {

void MergedSymbols::add(const std::vector<Module>& modules, const RecordedSymbols& symbols) {
    const auto numbers = joint_.add(modules);
    symbols.for_each([&](CodeLocation location, const CodeSymbol& symbol, std::string_view text) {
        if (renumber(location, numbers)) known_.improve(location, symbol, text);
    });
}

void MergedSymbols::number_as(const std::vector<Module>& modules) {
    numbers_ = joint_.add(modules);
}

const CodeSymbol& MergedSymbols::symbol(CodeLocation location) {
    if (!renumber(location, numbers_)) location.module = UINT32_MAX;
    return known_.symbol(location);
}

std::string MergedSymbols::instruction_text(CodeLocation location) {
    if (!renumber(location, numbers_)) location.module = UINT32_MAX;
    return known_.instruction_text(location);
}

}  // namespace shadowprof

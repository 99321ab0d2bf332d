#include "report/symbols/completed_symbols.h"

namespace shadowprof {

const CodeSymbol& CompletedSymbols::symbol(CodeLocation location) {
    const CodeSymbol& known = recorded_.symbol(location);
    const bool nothing = known.function.empty() && !known.function_start && known.file.empty();
    return nothing ? files_.symbol(location) : known;
}

std::string CompletedSymbols::instruction_text(CodeLocation location) {
    std::string known = recorded_.instruction_text(location);
    return known.empty() ? files_.instruction_text(location) : known;
}

}  // namespace shadowprof

#include "report/symbol_source.h"

namespace shadowprof {

void RecordedSymbols::add(CodeLocation location, const CodeSymbol& symbol,
                          std::string_view instruction_text) {
    auto [it, added] = entries_.try_emplace(location);
    if (!added) return;
    CodeSymbol& copy = it->second.symbol;
    copy = symbol;
    copy.function = strings_.intern(symbol.function);
    copy.file = strings_.intern(symbol.file);
    for (InlinedFrame& frame : copy.inlined) {
        frame.function = strings_.intern(frame.function);
        frame.file = strings_.intern(frame.file);
    }
    it->second.text = strings_.intern(instruction_text);
}

const CodeSymbol& RecordedSymbols::symbol(CodeLocation location) {
    auto it = entries_.find(location);
    return it == entries_.end() ? unknown_ : it->second.symbol;
}

std::string RecordedSymbols::instruction_text(CodeLocation location) {
    auto it = entries_.find(location);
    return it == entries_.end() ? std::string{} : std::string(it->second.text);
}

}  // namespace shadowprof

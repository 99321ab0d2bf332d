#include "report/symbols/symbol_source.h"

#include <algorithm>
#include <tuple>

namespace shadowprof {
namespace {

auto order_of(const InlinedFrame& frame) {
    return std::tie(frame.function, frame.file, frame.line);
}

// A strict order in which empty fields come first.
bool says_less(const CodeSymbol& a, const CodeSymbol& b) {
    const auto rest = [](const CodeSymbol& s) {
        return std::tie(s.function, s.file, s.line, s.function_start);
    };
    if (rest(a) != rest(b)) return rest(a) < rest(b);
    return std::lexicographical_compare(
        a.inlined.begin(), a.inlined.end(), b.inlined.begin(), b.inlined.end(),
        [](const InlinedFrame& x, const InlinedFrame& y) { return order_of(x) < order_of(y); });
}

}  // namespace

void RecordedSymbols::keep(Entry& entry, const CodeSymbol& symbol) {
    CodeSymbol& copy = entry.symbol;
    copy = symbol;
    copy.function = strings_.intern(symbol.function);
    copy.file = strings_.intern(symbol.file);
    for (InlinedFrame& frame : copy.inlined) {
        frame.function = strings_.intern(frame.function);
        frame.file = strings_.intern(frame.file);
    }
}

void RecordedSymbols::add(CodeLocation location, const CodeSymbol& symbol,
                          std::string_view instruction_text) {
    auto [it, added] = entries_.try_emplace(location);
    if (!added) return;
    keep(it->second, symbol);
    it->second.text = strings_.intern(instruction_text);
}

void RecordedSymbols::improve(CodeLocation location, const CodeSymbol& symbol,
                              std::string_view instruction_text) {
    const auto [it, added] = entries_.try_emplace(location);
    Entry& entry = it->second;
    if (added || says_less(entry.symbol, symbol)) keep(entry, symbol);
    if (entry.text < instruction_text) entry.text = strings_.intern(instruction_text);
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

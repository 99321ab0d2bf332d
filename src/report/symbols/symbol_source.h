// Names of locations in code, from either of two sources: the files of the program (Symbolizer), or
// a profile that was written when those files were available (RecordedSymbols).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/profile.h"
#include "report/symbols/elf/string_pool.h"

namespace shadowprof {

// A function that the compiler inlined.
struct InlinedFrame {
    std::string_view function;
    std::string_view file;   // file of the call; empty if unknown
    std::uint32_t line = 0;  // line of the call; 0 if unknown

    friend bool operator==(const InlinedFrame&, const InlinedFrame&) = default;
};

// Views live as long as the source that gave them.
struct CodeSymbol {
    std::string_view function;  // the function that contains the code, demangled; empty if unknown
    // Address of the function's first instruction, in the same module. If the module has unwind
    // tables, also known for code without a name.
    std::optional<std::uint64_t> function_start;
    std::string_view file;              // source file of the instruction; empty if unknown
    std::uint32_t line = 0;             // 0 if unknown
    std::vector<InlinedFrame> inlined;  // innermost first; the first was called from the function
                                        // in `file`

    friend bool operator==(const CodeSymbol&, const CodeSymbol&) = default;
};

class SymbolSource {
  public:
    virtual ~SymbolSource() = default;

    // Returns what is known of any location; an empty symbol if nothing is. The reference lives as
    // long as the source.
    virtual const CodeSymbol& symbol(CodeLocation location) = 0;
    // The start of the function around a location; the location itself if that is unknown.
    CodeLocation function_start(CodeLocation at) {
        return {at.module, symbol(at).function_start.value_or(at.address)};
    }
    // The instruction at the location, in Intel syntax; empty if its bytes are not known.
    virtual std::string instruction_text(CodeLocation location) = 0;
    // Notes on the answers given so far: modules that could not be used, and why.
    virtual std::vector<std::string> notes() const = 0;
};

struct CodeLocationHash {
    std::size_t operator()(CodeLocation l) const noexcept {
        return std::hash<std::uint64_t>{}(l.address * 0x9e3779b97f4a7c15 ^ l.module);
    }
};

// The symbols in a profile file.
class RecordedSymbols final : public SymbolSource {
  public:
    // Strings are copied. A location that is added twice keeps the first symbol.
    void add(CodeLocation location, const CodeSymbol& symbol, std::string_view instruction_text);
    // Like add(), but a location that is added twice keeps the symbol and the text with more
    // information, or else the alphabetically later one. So the order does not matter.
    void improve(CodeLocation location, const CodeSymbol& symbol,
                 std::string_view instruction_text);

    // Calls visit(location, symbol, instruction_text) for each location, in no order.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [location, entry] : entries_) visit(location, entry.symbol, entry.text);
    }

    const CodeSymbol& symbol(CodeLocation location) override;
    std::string instruction_text(CodeLocation location) override;
    std::vector<std::string> notes() const override { return {}; }

  private:
    struct Entry {
        CodeSymbol symbol;
        std::string_view text;
    };
    void keep(Entry& entry, const CodeSymbol& symbol);

    StringPool strings_;
    std::unordered_map<CodeLocation, Entry, CodeLocationHash> entries_;
    CodeSymbol unknown_;
};

}  // namespace shadowprof

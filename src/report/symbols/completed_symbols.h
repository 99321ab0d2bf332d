// Symbols recorded in a profile, completed from the profiled files for other locations.
#pragma once

#include "report/symbols/symbolizer.h"

namespace shadowprof {

class CompletedSymbols final : public SymbolSource {
  public:
    // `recorded` must outlive this.
    CompletedSymbols(SymbolSource& recorded, const std::vector<Module>& modules)
        : recorded_(recorded), files_(modules) {}

    const CodeSymbol& symbol(CodeLocation location) override;
    std::string instruction_text(CodeLocation location) override;
    std::vector<std::string> notes() const override { return files_.notes(); }

  private:
    SymbolSource& recorded_;
    Symbolizer files_;
};

}  // namespace shadowprof

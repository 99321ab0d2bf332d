// Symbols from several profiles together.
#pragma once

#include "profile/merge/joint_modules.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

class MergedSymbols final : public SymbolSource {
  public:
    // Adds the symbols of a profile with these modules. If profiles disagree, the result does not
    // depend on the order in which they were added (RecordedSymbols::improve).
    void add(const std::vector<Module>& modules, const RecordedSymbols& symbols);

    // From now on locations are in these modules. Locations that no profile had are unknown.
    void number_as(const std::vector<Module>& modules);

    const CodeSymbol& symbol(CodeLocation location) override;
    std::string instruction_text(CodeLocation location) override;
    std::vector<std::string> notes() const override { return {}; }

  private:
    JointModules joint_;
    RecordedSymbols known_;               // by joint_'s numbers
    std::vector<std::uint32_t> numbers_;  // joint_'s numbers of the modules passed to number_as()
};

}  // namespace shadowprof

// What several profiles know of the locations in them.
#pragma once

#include "profile/merge/joint_modules.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

class MergedSymbols final : public SymbolSource {
  public:
    // Adds what a profile with these modules knows. Where profiles know different things, the
    // answers do not depend on the order in which they were added (RecordedSymbols::improve).
    void add(const std::vector<Module>& modules, const RecordedSymbols& symbols);

    // From now on locations are in these modules. Those that no profile had are unknown.
    void number_as(const std::vector<Module>& modules);

    const CodeSymbol& symbol(CodeLocation location) override;
    std::string instruction_text(CodeLocation location) override;
    std::vector<std::string> notes() const override { return {}; }

  private:
    JointModules joint_;
    RecordedSymbols known_;               // by the numbers of joint_
    std::vector<std::uint32_t> numbers_;  // those of the modules asked for
};

}  // namespace shadowprof

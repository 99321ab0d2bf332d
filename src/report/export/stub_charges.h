// Charges the code of procedure linkage tables to those that call through it, as callgrind does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "report/export/callgrind_events.h"
#include "report/export/execution_costs.h"

namespace shadowprof {

// A stub is an entry of a table. The places from which edges lead to a stub pay for it, in
// proportion to the counts of these edges. The code that all stubs of a table have in common, which
// binds them when they are first called, is paid for by those who pay for the stubs that have
// jumped to it.
class StubCharges {
  public:
    // `symbols` must outlive it.
    StubCharges(const Profile& profile, std::vector<LinkageTable> tables, SymbolSource& symbols);

    // Both move all that stubs cost to those who pay. What nobody is known to have called keeps its
    // costs. Stubs without costs are left out, unless they are callees.
    void charge(ExecutionCosts& costs) const;
    void charge(CallgrindEvents& events) const;

  private:
    struct Payer {
        CodeLocation at;
        double share = 0;  // of 1
    };
    using Payers = std::vector<Payer>;
    using Counts = std::map<CodeLocation, std::uint64_t>;

    // The start of the stub, or of the table for its common code.
    std::optional<CodeLocation> stub_at(CodeLocation at) const;
    bool is_common_code(CodeLocation at) const;
    Payers payers_of(const Counts& callers) const;
    const Payers* payers_at(CodeLocation at) const;

    const std::vector<LinkageTable> tables_;
    SymbolSource& symbols_;
    std::map<CodeLocation, Payers> payers_;  // by stub
};

}  // namespace shadowprof

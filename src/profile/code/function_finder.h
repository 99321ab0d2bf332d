// The interface for finding the function that code lies in. Implemented where symbols are read.
#pragma once

#include <optional>

#include "profile/code/module_table.h"

namespace shadowprof {

// The function around a location.
struct FoundFunction {
    CodeLocation start;    // its first instruction
    bool is_stub = false;  // an entry of a procedure linkage table
};

// Thread-safe.
class FunctionFinder {
  public:
    virtual ~FunctionFinder() = default;
    // Returns nothing where no bounds are known. Reads a module's symbols when it is first asked
    // about the module.
    virtual std::optional<FoundFunction> find(CodeLocation at, const ModuleTable& modules) = 0;
};

}  // namespace shadowprof

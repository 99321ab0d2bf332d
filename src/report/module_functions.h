// The functions of a run's modules, from their files, while it is being profiled.
#pragma once

#include <map>
#include <mutex>

#include "profile/function_finder.h"
#include "report/function_table.h"

namespace shadowprof {

// Knows what Symbolizer will say of the same files. Code without a file has no functions here.
// Thread-safe: the first call of a module reads its file under a lock.
class ModuleFunctions final : public FunctionFinder {
  public:
    std::optional<FoundFunction> find(CodeLocation at, const ModuleTable& modules) override;

  private:
    static FunctionTable read_nicely(std::uint32_t module, const ModuleTable& modules);
    static FunctionTable read(std::uint32_t module, const ModuleTable& modules);

    std::mutex mutex_;
    std::map<std::uint32_t, FunctionTable> tables_;  // by module
};

}  // namespace shadowprof

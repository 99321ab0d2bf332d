// The functions of a run's modules, read from their files during the run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "profile/code/function_finder.h"
#include "report/symbols/function_tables.h"

namespace shadowprof {

// Finds the same functions as Symbolizer does later. Code without a file has no functions here.
// Thread-safe: the first call for a module reads its file under a lock.
class ModuleFunctions final : public FunctionFinder {
  public:
    // A thread reads this of each file while the program runs.
    enum class Beforehand : std::uint8_t { nothing, debug_information };

    // `tables` keeps what is read and must outlive this. To read debug information beforehand takes
    // a processor for a while; it is then there when the profile is written.
    explicit ModuleFunctions(FunctionTables& tables, Beforehand beforehand = Beforehand::nothing)
        : tables_(tables), beforehand_(beforehand) {}

    std::optional<FoundFunction> find(CodeLocation at, const ModuleTable& modules) override;

  private:
    using Table = std::shared_ptr<const FunctionTable>;  // null: nothing is known

    Table read_nicely(std::uint32_t module, const ModuleTable& modules);
    Table read(std::uint32_t module, const ModuleTable& modules);

    FunctionTables& tables_;
    const Beforehand beforehand_;
    std::mutex mutex_;
    std::map<std::uint32_t, Table> by_module_;
};

}  // namespace shadowprof

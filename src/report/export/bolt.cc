#include "report/export/branches.h"
#include "report/export/writers.h"

namespace shadowprof {

// perf2bolt 16 expects addresses of the file, even if the file is not linked to address 0. A trace
// must not leave its function, and it counts each step from a block to the block behind it. So runs
// and fall-throughs are written as separate traces.
Result<void> write_bolt(const ExportInput& input, ByteSink& sink) {
    TRY_ASSIGN(const ModuleBranches branches, module_branches(input));
    for (const auto& [way, count] : branches.taken)
        TRY(sink.write(fmt::format("B {:x} {:x} {} 0\n", way.first, way.second, count)));
    for (const ExecutedRun& run : branches.runs)
        if (run.start != run.branch)
            TRY(sink.write(fmt::format("F {:x} {:x} {}\n", run.start, run.branch, run.executions)));
    for (const auto& [way, count] : branches.fallen_through)
        TRY(sink.write(fmt::format("F {:x} {:x} {}\n", way.first, way.second, count)));
    return {};
}

}  // namespace shadowprof

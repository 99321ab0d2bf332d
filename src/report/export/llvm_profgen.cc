#include <algorithm>

#include "report/export/branches.h"
#include "report/export/writers.h"

namespace shadowprof {
namespace {

// llvm-profgen counts addresses from the page on which the first executable segment begins.
std::uint64_t preferred_base(const ElfFile& file) {
    constexpr std::uint64_t page_bytes = 4096;
    for (const ElfSegment& segment : file.segments())
        if (segment.executable) return segment.address & ~(page_bytes - 1);
    return 0;
}

}  // namespace

Result<void> write_llvm_profgen(const ExportInput& input, ByteSink& sink) {
    TRY_ASSIGN(const ModuleBranches branches, module_branches(input));
    const std::uint64_t base = preferred_base(*branches.file);
    std::string ranges, ways;
    std::size_t range_count = 0, way_count = 0;
    for (const ExecutedRun& run : branches.runs) {
        if (run.start < base) continue;
        ++range_count;
        ranges +=
            fmt::format("{:x}-{:x}:{}\n", run.start - base, run.branch - base, run.executions);
    }
    for (const auto& [way, count] : branches.taken) {
        const auto [from, to] = way;
        if (from < base || to < base) continue;
        ++way_count;
        ways += fmt::format("{:x}->{:x}:{}\n", from - base, to - base, count);
    }
    return sink.write(fmt::format("{}\n{}{}\n{}", range_count, ranges, way_count, ways));
}

}  // namespace shadowprof

#include "report/export/branches.h"

#include <algorithm>

#include "report/export/execution_costs.h"

namespace shadowprof {

Result<ModuleBranches> module_branches(const ExportInput& input) {
    const Profile& profile = input.profile;
    if (profile.edges.empty()) return no_edges();
    const std::uint32_t module = input.module.value();
    ModuleBranches branches;
    TRY_ASSIGN(branches.file, open_module_file(profile.modules.at(module)));
    for (const Edge& edge : profile.edges) {
        if (edge.from.module != module && edge.to.module != module) continue;
        const std::uint64_t from = edge.from.module == module ? edge.from.address : 0;
        const std::uint64_t to = edge.to.module == module ? edge.to.address : 0;
        const bool fell = edge.kind == EdgeKind::fall_through;
        (fell ? branches.fallen_through : branches.taken)[{from, to}] += edge.count;
    }
    const ElfFile& file = *branches.file;
    branches.runs =
        executed_runs(profile, module, [&](std::uint64_t address, std::span<std::byte> bytes) {
            return file.read(address, bytes);
        });
    std::reverse(branches.runs.begin(), branches.runs.end());
    return branches;
}

}  // namespace shadowprof

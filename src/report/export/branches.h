// The branches and runs of one module, for formats that optimizers read.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "report/export/export.h"
#include "report/lists/instruction_counts.h"
#include "report/symbols/module_file.h"

namespace shadowprof {

struct ModuleBranches {
    std::unique_ptr<ElfFile> file;
    // How often control went from one address to another; 0 stands for any place outside of the
    // module.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> taken, fallen_through;
    std::vector<ExecutedRun> runs;  // by ascending start
};

// Needs ExportInput::module. Errors: the profile has no edges; the module's file is not available
// or is another build (open_module_file()).
Result<ModuleBranches> module_branches(const ExportInput& input);

}  // namespace shadowprof

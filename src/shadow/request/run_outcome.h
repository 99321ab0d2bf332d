// The result of a run.
#pragma once

#include <string>
#include <vector>

#include "base/files/fd.h"
#include "profile/profile.h"

namespace shadowprof {

struct RunOutcome {
    Profile profile;  // run.exit_status or run.exit_signal say how the target ended, if it did
    std::vector<UniqueFd> files;      // the files of profile.modules, see ModuleTable::take_files()
    std::vector<UniqueFd> perf_maps;  // ModuleTable::open_perf_maps()
    std::vector<std::string> remarks;  // notes of the profile that its user should see at once
};

}  // namespace shadowprof

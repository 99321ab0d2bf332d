// Runs a program and profiles it: the supervisor's whole work.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "profile/profile.h"
#include "shadow/run_options.h"
#include "shadow/sampling_control.h"
#include "shadow/symbol_access.h"

namespace shadowprof {

// What a progress line shows.
struct RunProgress {
    double seconds = 0;
    std::uint64_t samples = 0;  // or `unit`
    std::uint64_t instructions = 0;
    std::string_view unit = "samples";
};

// Called now and then while the target runs, in the calling thread.
using ProgressListener = std::function<void(const RunProgress&)>;
// How often it is told.
inline constexpr std::chrono::milliseconds progress_period{250};

struct RunOutcome {
    Profile profile;  // run.exit_status or run.exit_signal say how the target ended, if it did
    std::vector<UniqueFd> files;  // of profile.modules, see ModuleTable::take_files()
};

// What the caller of run_target() is told, and how it ends it.
struct RunHooks {
    int end_request = -1;                 // readable: the target is let go early, and goes on
    ProgressListener on_progress;         // may be empty
    std::function<void(pid_t)> on_start;  // the program is there; may be empty
};

// Starts the program and returns when it has ended and all samples are done. The caller must have
// no children or tracees that it wants to wait for, and no other threads.
//
// Errors: not_found and permission for the program; unsupported with reason and remedy; system.
// After an error nothing of the target or of shadowprof is left running.
//
// What `control` says is obeyed while samples are taken; it may be null.
Result<RunOutcome> run_target(const RunOptions& options, const RunHooks& hooks = {},
                              SamplingControl* control = nullptr, SymbolAccess symbols = {});

}  // namespace shadowprof

// What `run` and `attach` do around the profiling: the progress line, the profile's file, the
// summary.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/control_channel.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/shield.h"
#include "report/safe_output.h"
#include "shadow/run_outcome.h"

namespace shadowprof {

// Calls `profile` with what shows the progress, if the user wants to see it.
Result<RunOutcome> with_progress(
    const RunRequest& request,
    const std::function<Result<RunOutcome>(const ProgressListener&)>& profile);

// What tells the sampler of commands. Lines that are none are complained of.
Result<ControlChannel> open_control(const RunRequest& request, const Shielded& shielded);

// Writes the profile with what was asked for in it, and says what it is and where, unless the user
// wants it quiet. `perf_map` is the file with the names of just-in-time compiled code.
Result<void> deliver(RunOutcome outcome, const RunRequest& request, const std::string& perf_map,
                     SafeOutput output);

}  // namespace shadowprof

// What `run` and `attach` do around the profiling: the progress line, the profile's file, the
// summary.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/files/safe_output.h"
#include "cli/control/control_channel.h"
#include "cli/options/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/shield.h"
#include "report/symbols/function_tables.h"
#include "shadow/request/run_outcome.h"

namespace shadowprof {

// Calls `profile` with what shows the progress, if the user wants to see it.
Result<RunOutcome> with_progress(
    const RunRequest& request,
    const std::function<Result<RunOutcome>(const ProgressListener&)>& profile);

// The file with the names of just-in-time compiled code of a process.
using PerfMapOf = std::function<std::string(std::int64_t pid)>;

// What tells the sampler of commands, and writes profiles meanwhile. What goes wrong is complained
// of. `request` and `shielded` must outlive it. Errors: usage too, where profiles of intervals
// would have to lie beside an output that is no file.
Result<ControlChannel> open_control(const RunRequest& request, const Shielded& shielded,
                                    const SafeOutput& output, PerfMapOf perf_map_of,
                                    FunctionTables& tables);

// Writes the profile with what was asked for in it, and says what it is and where, unless the user
// wants it quiet. `perf_map` is the file with the names of just-in-time compiled code, `tables` has
// the functions that were read while the target ran.
Result<void> deliver(RunOutcome outcome, const RunRequest& request, const std::string& perf_map,
                     FunctionTables& tables, SafeOutput output);

}  // namespace shadowprof

// What `run` and `attach` do around the profiling: they show progress, write the profile and print
// the summary.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/files/safe_output.h"
#include "cli/commands/live_view.h"
#include "cli/control/control_channel.h"
#include "cli/options/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/shield.h"
#include "report/symbols/function_tables.h"
#include "shadow/request/run_outcome.h"

namespace shadowprof {

// Calls `profile` with the listener that shows the progress, or with an empty one if the user does
// not want to see it. Then ends `live`, which is null without --live.
Result<RunOutcome> with_progress(
    const RunRequest& request, LiveView* live,
    const std::function<Result<RunOutcome>(const ProgressListener&)>& profile);

// Opens the channel that passes commands to the sampler and writes profiles during the run.
// Failures to write them are printed, with `live` at its end; it is null without --live. All
// references must outlive the channel. Errors: those of
// ControlChannel::open(), and usage if `request.dump_every` is set but the output is no regular
// file, beside which profiles of intervals could lie.
Result<ControlChannel> open_control(const RunRequest& request, const Shielded& shielded,
                                    const SafeOutput& output, FunctionTables& tables,
                                    LiveView* live);

// Where the parts of the run's profile go that the program ends by requests; empty if the output is
// no regular file, beside which they could lie. All references must outlive the result.
std::function<DumpRequest(pid_t process, unsigned number)> part_files(const RunRequest& request,
                                                                      const Shielded& shielded,
                                                                      const SafeOutput& output,
                                                                      FunctionTables& tables);

// Writes the profile together with the request's options and notes. Unless `request.quiet`, it then
// prints a summary and the profile's name. `tables` has the functions that were read while the
// target ran.
Result<void> deliver(RunOutcome outcome, const RunRequest& request, FunctionTables& tables,
                     SafeOutput output);

}  // namespace shadowprof

// Profiles a process that runs already, and lets it go as it was.
#pragma once

#include "base/result.h"
#include "shadow/request/run_hooks.h"
#include "shadow/request/run_options.h"
#include "shadow/request/run_outcome.h"
#include "shadow/request/sampling_control.h"
#include "shadow/request/symbol_access.h"

namespace shadowprof {

// Attaches to options.attach_to and samples it. Detaches and returns when `end_request` becomes
// readable, when the options or `control` allow no more samples, or when the process ends.
// `control` may be null.
//
// The caller must have no children or tracees that it wants to wait for, and no other threads. It
// must block the signals that announce themselves at `end_request`, so that they interrupt nothing.
//
// Errors: not_found, permission and unsupported, which say why the process cannot be attached to
// and what to do; system. After an error the process runs on.
Result<RunOutcome> attach_target(const RunOptions& options, int end_request,
                                 const ProgressListener& on_progress = {},
                                 SamplingControl* control = nullptr, SymbolAccess symbols = {});

}  // namespace shadowprof

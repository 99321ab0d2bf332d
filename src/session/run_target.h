// Runs a program and profiles it.
#pragma once

#include "base/result.h"
#include "shadow/request/run_hooks.h"
#include "shadow/request/run_options.h"
#include "shadow/request/run_outcome.h"
#include "shadow/request/sampling_control.h"
#include "shadow/request/symbol_access.h"

namespace shadowprof {

// Starts the program and returns when it has ended and all samples are done. The caller must have
// no children or tracees that it wants to wait for, and no other threads.
//
// Errors: not_found and permission for the program; unsupported with reason and remedy; system.
// After an error nothing of the target or of shadowprof is left running.
//
// The commands of `control` are obeyed while samples are taken; it may be null.
Result<RunOutcome> run_target(const RunOptions& options, const RunHooks& hooks = {},
                              SamplingControl* control = nullptr, SymbolAccess symbols = {});

}  // namespace shadowprof

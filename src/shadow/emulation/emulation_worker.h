// Worker processes execute shadowprof's own program again, under a hidden subcommand.
#pragma once

#include <string_view>

#include "base/result.h"
#include "emu/worker/worker_process.h"

namespace shadowprof {

inline constexpr std::string_view worker_subcommand = "emulation-worker";

// Starts a worker that emulates samples with EmulatedSyscalls. The program's main() must call
// run_emulation_worker() when its only argument is worker_subcommand.
Result<WorkerProcess> start_emulation_worker();

// Does all work of a worker, and returns its exit status. `arguments` are those of main().
int run_emulation_worker(char* const* arguments);

}  // namespace shadowprof

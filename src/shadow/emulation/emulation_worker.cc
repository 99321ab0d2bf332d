#include "shadow/emulation/emulation_worker.h"

#include <array>

#include "emu/worker/worker_main.h"
#include "ptrace/proc/proc.h"
#include "shadow/window/sample_syscalls.h"

namespace shadowprof {

Result<WorkerProcess> start_emulation_worker() {
    static constexpr std::array arguments = {"shadowprof", worker_subcommand.data()};
    auto worker = WorkerProcess::start(arguments);
    // A worker can be replaced, the target cannot.
    if (worker) offer_to_oom_killer(worker->pid());
    return worker;
}

int run_emulation_worker(char* const* arguments) {
    EmulatedSyscalls syscalls;
    return run_worker(syscalls, arguments);
}

}  // namespace shadowprof

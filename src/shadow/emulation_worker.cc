#include "shadow/emulation_worker.h"

#include <array>

#include "emu/worker_main.h"
#include "shadow/sample_syscalls.h"

namespace shadowprof {

Result<WorkerProcess> start_emulation_worker() {
    static constexpr std::array arguments = {"shadowprof", worker_subcommand.data()};
    return WorkerProcess::start(arguments);
}

int run_emulation_worker() {
    EmulatedSyscalls syscalls;
    return run_worker(syscalls);
}

}  // namespace shadowprof

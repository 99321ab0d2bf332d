#include "shadow/emulation/owned_worker.h"

#include <csignal>

#include "shadow/emulation/emulation_worker.h"

namespace shadowprof {

Result<OwnedWorker> OwnedWorker::start(WaitHub& hub) {
    TRY_ASSIGN(auto process, start_emulation_worker());
    OwnedWorker worker(hub, std::move(process));
    TRY(worker.greet());
    return worker;
}

Result<void> OwnedWorker::replace() {
    end();
    TRY_ASSIGN(auto process, start_emulation_worker());
    process_.emplace(std::move(process));
    return greet();
}

// A worker that lacks what it needs ends at once. That must be known before a program is started.
Result<void> OwnedWorker::greet() {
    if (process_->set_probes({})) return {};
    return Error{
        ErrorCode::system, 0,
        "the emulator's process does not start; it needs memory and may reserve 80 GiB of address "
        "space, which ulimit -v or vm.overcommit_memory=2 can forbid"};
}

void OwnedWorker::end() {
    if (!process_) return;
    kill(process_->pid(), SIGKILL);
    (void)hub_->reap(process_->pid());
    process_.reset();
}

}  // namespace shadowprof

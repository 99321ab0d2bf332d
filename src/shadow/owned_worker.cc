#include "shadow/owned_worker.h"

#include <csignal>

#include "shadow/emulation_worker.h"

namespace shadowprof {

Result<OwnedWorker> OwnedWorker::start(WaitHub& hub) {
    TRY_ASSIGN(auto process, start_emulation_worker());
    return OwnedWorker(hub, std::move(process));
}

Result<void> OwnedWorker::replace() {
    end();
    TRY_ASSIGN(auto process, start_emulation_worker());
    process_.emplace(std::move(process));
    return {};
}

void OwnedWorker::end() {
    if (!process_) return;
    kill(process_->pid(), SIGKILL);
    (void)hub_->reap(process_->pid());
    process_.reset();
}

}  // namespace shadowprof

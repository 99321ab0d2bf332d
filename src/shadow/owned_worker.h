// A worker process that is killed and waited for when it is no longer needed.
#pragma once

#include "emu/worker_process.h"
#include "ptrace/wait_hub.h"

namespace shadowprof {

class OwnedWorker {
  public:
    static Result<OwnedWorker> start(WaitHub& hub);
    OwnedWorker(OwnedWorker&& other) noexcept
        : hub_(other.hub_), process_(std::move(other.process_)) {
        other.process_.reset();
    }
    OwnedWorker& operator=(OwnedWorker&&) = delete;
    ~OwnedWorker() { end(); }

    WorkerProcess& operator*() { return *process_; }
    WorkerProcess* operator->() { return &*process_; }
    // Ends it and starts another. After an error there is none.
    Result<void> replace();

  private:
    OwnedWorker(WaitHub& hub, WorkerProcess process) : hub_(&hub), process_(std::move(process)) {}
    void end();

    WaitHub* hub_;
    std::optional<WorkerProcess> process_;
};

}  // namespace shadowprof

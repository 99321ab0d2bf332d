// A worker process that is killed and reaped when it is no longer needed.
#pragma once

#include "emu/worker/worker_process.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

class OwnedWorker {
  public:
    // Returns when the worker answers. Errors: system (it cannot be started, or ends at once).
    static Result<OwnedWorker> start(WaitHub& hub);
    OwnedWorker(OwnedWorker&& other) noexcept
        : hub_(other.hub_), process_(std::move(other.process_)) {
        other.process_.reset();
    }
    OwnedWorker& operator=(OwnedWorker&&) = delete;
    ~OwnedWorker() { end(); }

    WorkerProcess& operator*() { return *process_; }
    WorkerProcess* operator->() { return &*process_; }
    // Ends the worker and starts another. Errors: as start(), and then there is no worker.
    Result<void> replace();

  private:
    OwnedWorker(WaitHub& hub, WorkerProcess process) : hub_(&hub), process_(std::move(process)) {}
    Result<void> greet();
    void end();

    WaitHub* hub_;
    std::optional<WorkerProcess> process_;
};

// Turns ErrorCode::gone, for a worker that is gone, into ErrorCode::system, for callers to whom
// `gone` means the program.
template <typename Answer>
Answer of_worker(Answer answer) {
    if (!answer && answer.error().code == ErrorCode::gone)
        return Error{ErrorCode::system, 0, "the emulator's process has ended"};
    return answer;
}

// The error of a worker that asks where nothing may be asked.
inline Error unasked_question() {
    return {ErrorCode::invalid, 0, "the emulator's process sent an unexpected message"};
}

}  // namespace shadowprof

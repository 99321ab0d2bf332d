// SIGTSTP, by which a user stops a command for a while (Ctrl-Z).
#pragma once

#include <signal.h>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// The process that the user sees stops, and the tracer does not: it only takes no samples
// meanwhile, so that the target is never left held. Create it before the fork that makes the
// tracer, which has to be in another process group. If shadowprof's caller had set the signal to be
// ignored, it stays ignored.
class PauseSignal {
  public:
    // Error: system.
    static Result<PauseSignal> take();

    PauseSignal(PauseSignal&&) = default;
    PauseSignal& operator=(PauseSignal&&) = delete;
    ~PauseSignal();

    // In the process that the user sees: readable when the signal has come; call stop() then. -1 if
    // the signal is ignored.
    int fd() const { return arrived_.get(); }
    // Stops this process as the signal does by default. Returns when the process goes on.
    void stop();

    // To be called in the tracer.
    void leave_to_other();
    // An eventfd that counts pauses: 1 when a pause begins, 1 more when it ends.
    int handed_on() const { return handed_on_.get(); }

  private:
    PauseSignal(UniqueFd handed_on) : handed_on_(std::move(handed_on)) {}

    UniqueFd arrived_, handed_on_;
    sigset_t before_;
};

}  // namespace shadowprof

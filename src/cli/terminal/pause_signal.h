// SIGTSTP, by which a user stops a command for a while (Ctrl-Z).
#pragma once

#include "cli/terminal/counted_signal.h"

namespace shadowprof {

// The process that the user sees stops, and the tracer does not: it only takes no samples
// meanwhile, so that the target is never left held. The tracer has to be in another process group.
class PauseSignal {
  public:
    // See CountedSignal::take().
    static Result<PauseSignal> take();

    // In the process that the user sees: readable when the signal has come; call stop() then. -1 if
    // the signal is ignored.
    int fd() const { return signal_.fd(); }
    // Stops this process as the signal does by default. Returns when the process goes on.
    void stop();

    // To be called in the tracer.
    void leave_to_other() { signal_.leave_to_other(); }
    // An eventfd that counts pauses: 1 when a pause begins, 1 more when it ends.
    int handed_on() const { return signal_.counted(); }

  private:
    explicit PauseSignal(CountedSignal signal) : signal_(std::move(signal)) {}

    CountedSignal signal_;
};

}  // namespace shadowprof

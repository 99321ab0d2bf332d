// SIGUSR2, which switches sampling off and on again.
#pragma once

#include <signal.h>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// Create it before the fork that makes the tracer. The signal has no effect in the tracer, or else
// a signal for the whole process group would count twice. If shadowprof's caller had set the signal
// to be ignored, it stays ignored.
class ToggleSignal {
  public:
    // Error: system.
    static Result<ToggleSignal> take();

    ToggleSignal(ToggleSignal&&) = default;
    ToggleSignal& operator=(ToggleSignal&&) = delete;
    ~ToggleSignal();

    // In the process that the user sees: readable when the signal has come; call hand_on() then. -1
    // if the signal is ignored.
    int fd() const { return arrived_.get(); }
    void hand_on();

    // To be called in the tracer.
    void leave_to_other();
    // An eventfd that counts the signals.
    int handed_on() const { return handed_on_.get(); }

  private:
    ToggleSignal(UniqueFd handed_on) : handed_on_(std::move(handed_on)) {}

    UniqueFd arrived_, handed_on_;
    sigset_t before_;
};

}  // namespace shadowprof

// SIGUSR2, by which a user switches sampling off and on again.
#pragma once

#include <signal.h>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// To be taken before the fork that makes the process with the work, in which the signal then has
// no effect: one that is for the whole process group would count twice. If the caller of shadowprof
// had it ignore the signal, it stays ignored.
class ToggleSignal {
  public:
    // Error: system.
    static Result<ToggleSignal> take();

    ToggleSignal(ToggleSignal&&) = default;
    ToggleSignal& operator=(ToggleSignal&&) = delete;
    ~ToggleSignal();

    // In the process that the user sees: readable when the signal has come (-1: never), and what to
    // do then.
    int fd() const { return arrived_.get(); }
    void hand_on();

    // In the other one.
    void leave_to_other();
    // An eventfd that counts the signals.
    int handed_on() const { return handed_on_.get(); }

  private:
    ToggleSignal(UniqueFd handed_on) : handed_on_(std::move(handed_on)) {}

    UniqueFd arrived_, handed_on_;
    sigset_t before_;
};

}  // namespace shadowprof

// SIGUSR2, which switches sampling off and on again.
#pragma once

#include "cli/terminal/counted_signal.h"

namespace shadowprof {

// The signal has no effect in the tracer, or else a signal for the whole process group would count
// twice.
class ToggleSignal {
  public:
    // See CountedSignal::take().
    static Result<ToggleSignal> take();

    ToggleSignal(ToggleSignal&&) = default;
    ToggleSignal& operator=(ToggleSignal&&) = delete;
    ~ToggleSignal();

    // In the process that the user sees: readable when the signal has come; call hand_on() then. -1
    // if the signal is ignored.
    int fd() const { return signal_.fd(); }
    void hand_on();

    // To be called in the tracer.
    void leave_to_other();
    // An eventfd that counts the signals.
    int handed_on() const { return signal_.counted(); }

  private:
    explicit ToggleSignal(CountedSignal signal) : signal_(std::move(signal)) {}

    CountedSignal signal_;
};

}  // namespace shadowprof

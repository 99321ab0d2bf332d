// The signals by which a user, a shell, a service manager or a closing terminal ends `run`: they
// are for the program, whose end is then waited for.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "base/result.h"
#include "cli/end_signals.h"

namespace shadowprof {

// What a process group gets, the program gets by itself, and so does the tracing process, which is
// in the same group and counts it. What only the process that the user sees has got is passed on.
//
// To be taken before the fork that makes the tracing process, and before other threads start.
class PassedSignals {
  public:
    static Result<PassedSignals> take();

    // In the tracing process: counts them from now on. By handlers, which the program does not
    // inherit; what is ignored stays so.
    void leave_to_other();

    // In the process that the user sees: readable when a signal has come, and what to do then.
    int fd() const { return signals_.fd(); }
    // The answer is the signal by which to end, which the second that was passed on asks for; 0: go
    // on.
    int hand_on(pid_t tracer);
    // The program, as soon as it is there. Signals that came before reach it now.
    void set_program(pid_t pid);

  private:
    using Counts = std::array<std::atomic<std::uint32_t>, 65>;
    struct Unmap {
        void operator()(Counts* counts) const;
    };

    PassedSignals(EndSignals signals, std::unique_ptr<Counts, Unmap> counts)
        : signals_(std::move(signals)), counted_(std::move(counts)) {}
    bool is_for_group(int signal, pid_t tracer);
    void send(int signal);

    EndSignals signals_;
    // Of the tracing process, shared with it.
    std::unique_ptr<Counts, Unmap> counted_;
    std::array<std::uint32_t, 65> taken_for_group_{};
    UniqueFd program_;        // a pidfd
    int waiting_signal_ = 0;  // for the program to be there
    int passed_on_ = 0;
};

}  // namespace shadowprof

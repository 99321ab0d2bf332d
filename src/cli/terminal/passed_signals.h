// The signals by which a user, a shell, a service manager or a closing terminal ends `run`: they
// are for the program, whose end is then waited for.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/files/fd.h"
#include "base/result.h"
#include "cli/terminal/end_signals.h"

namespace shadowprof {

// A signal for the whole process group reaches the program and the tracing process by itself, and
// the tracing process counts it. A signal that only the process that the user sees got is passed on
// to the program.
//
// To be taken before the fork that makes the tracing process, and before other threads start.
class PassedSignals {
  public:
    // Error: system.
    static Result<PassedSignals> take();

    // In the tracing process: counts them from now on. By handlers, which the program does not
    // inherit; what is ignored stays so.
    void leave_to_other();

    // Readable when a signal has come: call hand_on(), in the process that the user sees.
    int fd() const { return signals_.fd(); }
    // Passes the signal on unless the tracing process got it, too. Returns 0; from the second one
    // passed on, that signal: the caller is to die of it.
    int hand_on(pid_t tracer);
    // From now on signals are passed on to this program. One that came before is sent to it now.
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
    // By signal: how many the tracing process got. Memory that both processes share.
    std::unique_ptr<Counts, Unmap> counted_;
    // By signal: how many of these were matched with one of ours.
    std::array<std::uint32_t, 65> taken_for_group_{};
    UniqueFd program_;        // a pidfd
    int waiting_signal_ = 0;  // for the program to be there
    int passed_on_ = 0;
};

}  // namespace shadowprof

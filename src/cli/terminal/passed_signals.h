// The signals by which a user, a shell, a service manager or a closing terminal ends `run`. They
// are meant for the target: shadowprof passes them on and waits for the target's end.
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

// A signal for the whole process group reaches the target and the tracer without help, and the
// tracer counts it. A signal that reached only the process that the user sees is passed on to the
// target.
//
// Create it before the fork that makes the tracer, and before other threads start.
class PassedSignals {
  public:
    // Error: system.
    static Result<PassedSignals> take();

    // In the tracer: counts the signals from now on. It uses handlers, which the target does not
    // inherit. Ignored signals stay ignored.
    void leave_to_other();

    // In the process that the user sees: readable when a signal has come; call hand_on() then.
    int fd() const { return signals_.fd(); }
    // Passes the signal on unless the tracer got it, too. Returns 0 the first time that it passes
    // one on. From the second time on, returns the signal: the caller must die of it.
    int hand_on(pid_t tracer);
    // Passes signals on to this process from now on. A signal that came before is sent to it now.
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
    // Indexed by signal: how many the tracer got. Both processes share this memory.
    std::unique_ptr<Counts, Unmap> counted_;
    // Indexed by signal: how many of the tracer's signals were matched with one of ours.
    std::array<std::uint32_t, 65> taken_for_group_{};
    UniqueFd program_;        // a pidfd
    int waiting_signal_ = 0;  // a signal that came before set_program()
    int passed_on_ = 0;
};

}  // namespace shadowprof

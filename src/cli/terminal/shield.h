// Runs work that must finish even if shadowprof is killed: a target whose tracer dies in the middle
// of an injected call goes on with wrong registers.
#pragma once

#include <functional>
#include <optional>

#include "base/files/fd.h"
#include "base/result.h"
#include "cli/terminal/end_signals.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/signal_counts.h"

namespace shadowprof {

// What the shielded process knows of the process that the user sees.
class Shielded {
  public:
    // `signals` may be null.
    Shielded(UniqueFd other, const EndSignals* signals, SignalCounts counts);

    // Readable when the work must end: the user wants it to, or shadowprof was killed.
    int end_request() const { return end_request_.get(); }
    // Whether the other process is dead, so that nobody waits for the outcome.
    bool is_orphaned() const;
    SignalCounts signal_counts() const { return counts_; }
    // Tells the other process that the target was started. From now on that process passes on to
    // the target the signals that reached only itself. Call it once, and only under
    // run_in_our_group().
    void send_program_id(pid_t pid) const;

  private:
    UniqueFd other_;
    UniqueFd end_request_;
    SignalCounts counts_;
};

// How the shielded process ended.
struct WorkEnd {
    int status = 0;
    std::optional<int> signal;  // the signal that it died of
};

// Both functions do the work in a child process, which a SIGKILL to this process does not reach,
// and wait for it. `work` returns an exit status. No other threads may run. `screen` may be null:
// it is restored when a user stops the command, and if the child is killed.

// The child is in a process group of its own. Signals that end a command are handed on to it. When
// a user stops the command, the child goes on (PauseSignal).
Result<WorkEnd> run_in_own_group(const std::function<int(const Shielded&)>& work,
                                 Screen* screen = nullptr);

// The child stays in our process group, as the target must. A signal that ends a command goes to
// the target (PassedSignals). A second signal that only this process got ends this process as well,
// and the child stops its work.
Result<WorkEnd> run_in_our_group(const std::function<int(const Shielded&)>& work,
                                 Screen* screen = nullptr);

}  // namespace shadowprof

// Work that must come to its end even if shadowprof is killed: a target whose tracer dies in the
// middle of an injected call goes on with registers that are not its own.
#pragma once

#include <functional>
#include <optional>

#include "base/files/fd.h"
#include "base/result.h"
#include "cli/terminal/end_signals.h"

namespace shadowprof {

// What the shielded process knows of the one that the user sees.
class Shielded {
  public:
    // `signals` may be null.
    Shielded(UniqueFd other, const EndSignals* signals, int toggles);

    // Readable when the work is to end: the user wants it, or shadowprof was killed.
    int end_request() const { return end_request_.get(); }
    // Nobody waits for the outcome any more.
    bool is_orphaned() const;
    // An eventfd that counts the signals to switch sampling off or on.
    int toggles() const { return toggles_; }
    // The program was started: signals that were for it, and only the other process has got, are
    // passed on to it from now on. Only under run_in_our_group(); once.
    void send_program_id(pid_t pid) const;

  private:
    UniqueFd other_;
    UniqueFd end_request_;
    int toggles_;
};

// How the shielded process ended.
struct WorkEnd {
    int status = 0;
    std::optional<int> signal;  // it died by this one
};

// Both do the work in a child process, which a SIGKILL for this one does not reach, and wait for
// it. The work returns an exit status. Needs: no other threads.

// The child is in a process group of its own. The signals that end a command are handed on to it.
Result<WorkEnd> run_in_own_group(const std::function<int(const Shielded&)>& work);

// The child stays in our process group, as the program that it starts must. A signal that ends a
// command goes to the program (PassedSignals). A second one that only this process got ends this
// process as well, and the child gives its work up.
Result<WorkEnd> run_in_our_group(const std::function<int(const Shielded&)>& work);

}  // namespace shadowprof

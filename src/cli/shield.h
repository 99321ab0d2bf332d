// Work that must come to its end even if shadowprof is killed: a target whose tracer dies in the
// middle of an injected call goes on with registers that are not its own.
#pragma once

#include <functional>

#include "base/fd.h"
#include "base/result.h"
#include "cli/end_signals.h"

namespace shadowprof {

// What the shielded process knows of the one that the user sees.
class Shielded {
  public:
    Shielded(UniqueFd other, EndSignals& signals);

    // Readable when the work is to end: the user wants it, or shadowprof was killed.
    int end_request() const { return end_request_.get(); }
    // Nobody waits for the outcome any more.
    bool is_orphaned() const;

  private:
    UniqueFd other_;
    UniqueFd end_request_;
};

// Does the work in a child process, which is in no process group of anybody's, so that a SIGKILL
// for this process or for its group does not reach it. Returns what the work returns, which is an
// exit status. The signals that end a command are handed on to it. Needs: no other threads.
Result<int> run_shielded(const std::function<int(const Shielded&)>& work);

}  // namespace shadowprof

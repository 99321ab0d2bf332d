// The signals by which a user ends a command that does not end by itself.
#pragma once

#include <signal.h>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// While this object lives, SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end shadowprof but make fd()
// readable, each time that one comes. Afterwards they have their former effect. Signals that
// shadowprof's caller had set to be ignored stay ignored. Create it before other threads start.
class EndSignals {
  public:
    static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    // Error: system.
    static Result<EndSignals> take();

    EndSignals(EndSignals&& other) = default;
    EndSignals& operator=(EndSignals&&) = delete;
    ~EndSignals();

    // Readable when one of the signals has come.
    int fd() const { return fd_.get(); }

    // In the child of a fork: restores the signals' effect from before take(). Signals that have
    // come stay with the parent.
    void leave_to_other();

  private:
    EndSignals(UniqueFd fd, const sigset_t& before) : fd_(std::move(fd)), before_(before) {}

    UniqueFd fd_;
    sigset_t before_;
};

}  // namespace shadowprof

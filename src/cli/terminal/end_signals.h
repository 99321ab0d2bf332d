// The signals by which a user ends a command that would go on.
#pragma once

#include <signal.h>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// SIGINT, SIGTERM, SIGHUP and SIGQUIT no longer end shadowprof but announce themselves, as often as
// they come, until the end of this object's life; then their effect is as before. Those that the
// caller of shadowprof had it ignore stay ignored. To be made before other threads start.
class EndSignals {
  public:
    static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    // Error: system.
    static Result<EndSignals> take();

    EndSignals(EndSignals&& other) = default;
    EndSignals& operator=(EndSignals&&) = delete;
    ~EndSignals();

    // Readable when one of them has come.
    int fd() const { return fd_.get(); }

    // In the child of a fork: signals act again as before take(). Those that came stay with the
    // parent.
    void leave_to_other();

  private:
    EndSignals(UniqueFd fd, const sigset_t& before) : fd_(std::move(fd)), before_(before) {}

    UniqueFd fd_;
    sigset_t before_;
};

}  // namespace shadowprof

// The resource limits (getrlimit(2)) that shadowprof was started with. The program gets them
// unchanged, while shadowprof raises its own.
#pragma once

#include <sys/resource.h>

#include <array>

#include "base/result.h"

namespace shadowprof {

class InheritedLimits {
  public:
    // Raises the limits that are too low for us, even above the hard limit where that is allowed.
    // Call it in a process that only profiles, before other threads start. Error: unsupported, with
    // the limit and the value that is needed.
    static Result<InheritedLimits> raise();

    // Restores the limits in the child that becomes the program. Ignores failures.
    // Async-signal-safe.
    void restore() const;

  private:
    static constexpr std::size_t count = 4;
    std::array<rlimit, count> before_{};
    std::array<bool, count> raised_{};
};

}  // namespace shadowprof

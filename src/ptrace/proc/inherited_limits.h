// The resource limits (getrlimit(2)) that shadowprof was started with. The program gets them
// unchanged; shadowprof raises its own.
#pragma once

#include <sys/resource.h>

#include <array>

#include "base/result.h"

namespace shadowprof {

class InheritedLimits {
  public:
    // Raises those that are too low for us, also above the hard limit where that is allowed. Call
    // it in a process that only profiles, before other threads start.
    // Error: unsupported, naming the limit and what is wanted.
    static Result<InheritedLimits> raise();

    // As they were; in the child that becomes the program. Failures are ignored. Async-signal-safe.
    void restore() const;

  private:
    static constexpr std::size_t count = 4;
    std::array<rlimit, count> before_{};
    std::array<bool, count> raised_{};
};

}  // namespace shadowprof

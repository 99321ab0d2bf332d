// Limits on resources (getrlimit(2)) with which shadowprof was started. They are for the program:
// we want more than a program that somebody keeps short.
#pragma once

#include <sys/resource.h>

#include <array>

#include "base/result.h"

namespace shadowprof {

class InheritedLimits {
  public:
    // Raises those that are too low for us, also above the hard limit where that is allowed. For a
    // process that does no more than to profile, before other threads start.
    // Error: unsupported, naming the limit and what is wanted.
    static Result<InheritedLimits> raise();

    // As they were; in the child that becomes the program. Async-signal-safe.
    void restore() const;

  private:
    static constexpr std::size_t count = 4;
    std::array<rlimit, count> before_{};
    std::array<bool, count> raised_{};
};

}  // namespace shadowprof

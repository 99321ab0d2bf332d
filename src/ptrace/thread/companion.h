// A process of ours that accompanies a target, such as a fork server. The target must outlive it.
#pragma once

namespace shadowprof {

class Companion {
  public:
    Companion() = default;
    // Ends the process.
    virtual ~Companion() = default;
    Companion(const Companion&) = delete;
    Companion& operator=(const Companion&) = delete;

    // Kills the remaining replicas of the target and waits for their end, without a limit.
    virtual void end_replicas() = 0;
};

}  // namespace shadowprof

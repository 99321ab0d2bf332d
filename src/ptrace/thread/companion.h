// A process of ours that lives beside a target: a fork server, for the target that must outlive it.
#pragma once

namespace shadowprof {

class Companion {
  public:
    Companion() = default;
    // Ends the process.
    virtual ~Companion() = default;
    Companion(const Companion&) = delete;
    Companion& operator=(const Companion&) = delete;

    // Kills the replicas of the target that still live, and waits for their end, without a limit.
    virtual void end_replicas() = 0;
};

}  // namespace shadowprof

// How much of the machine's processors other programs use.
#pragma once

#include <chrono>
#include <cstdint>

namespace shadowprof {

// Measures what other programs, the target among them, use from its construction on. The kernel
// counts ticks of some milliseconds.
class ProcessorUse {
  public:
    ProcessorUse();
    // The share of all processors that others used. It includes the host's share if this is a
    // virtual machine, but not this process and the children that it has reaped. 0 if the kernel
    // does not say.
    double others_share() const;

  private:
    struct Seconds {
        double all = 0, busy = 0, own = 0;
    };
    static Seconds read();

    Seconds begun_;
};

// The share of all processors that others, the target among them, want now or wanted in the last
// minute; 0 if the kernel does not say.
double share_wanted_now();

}  // namespace shadowprof

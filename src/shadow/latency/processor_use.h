// How much of the machine's processors other programs use.
#pragma once

#include <chrono>
#include <cstdint>

namespace shadowprof {

// What they, the target among them, use from its construction on. The kernel counts ticks, of some
// milliseconds.
class ProcessorUse {
  public:
    ProcessorUse();
    // A share of all processors, that of the host included where this is a virtual machine, without
    // that of this process and of the children that it has reaped. 0 where the kernel does not say.
    double others_share() const;

  private:
    struct Seconds {
        double all = 0, busy = 0, own = 0;
    };
    static Seconds read();

    Seconds begun_;
};

// A share of all processors that others, the target among them, want now or did in the last minute;
// 0 where the kernel does not say.
double share_wanted_now();

}  // namespace shadowprof

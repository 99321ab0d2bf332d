// What a page fault after a fork costs a process, estimated from the windows of its samples.
//
// The price of such a fault alone, in a small program, can be measured in advance. A larger program
// also loses caches and address translations, so a fault costs one to five times as much, depending
// on the program, the processor and the virtual machine.
#pragma once

#include <cstdint>

namespace shadowprof {

class FaultPrice {
  public:
    // A window of the process.
    struct Window {
        double passed_seconds = 0;
        double faults = 0;  // induced faults
        std::uint64_t instructions = 0;
    };
    void add(const Window& window);

    // The price of a fault that costs `alone_seconds` by itself: the slope of the windows' times
    // over their faults, if that is known, but from one to five times the price by itself.
    double seconds(double alone_seconds) const;

  private:
    // Decaying sums over the windows, for a fit of their times that is linear in instructions and
    // faults.
    double instructions_squared_ = 0, faults_squared_ = 0, mixed_ = 0;
    double instructions_by_seconds_ = 0, faults_by_seconds_ = 0;
    double faults_ = 0;
    double max_seconds_ = 0;  // least time per fault of any window with many; 0: not known
};

}  // namespace shadowprof

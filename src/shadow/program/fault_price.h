// What a page fault behind a fork costs a process, as the windows of its samples say.
//
// By itself, in a small program, such a fault has a price that can be measured in advance. In a
// program, caches and address translations are lost with it, so it costs one to five times as much;
// which of these depends on the program, the processor, and the virtual machine.
#pragma once

#include <cstdint>

namespace shadowprof {

class FaultPrice {
  public:
    // A window of the process: how long it took, and what it had.
    struct Window {
        double passed_seconds = 0;
        double faults = 0;  // that the fork induced
        std::uint64_t instructions = 0;
    };
    void add(const Window& window);

    // The price of a fault that costs `alone_seconds` by itself: the slope of the windows' times
    // over their faults, where that is known, but within one and five times the price by itself.
    double seconds(double alone_seconds) const;

  private:
    // Sums over the lately added windows, for times that are linear in instructions and faults.
    double instructions_squared_ = 0, faults_squared_ = 0, mixed_ = 0;
    double instructions_by_seconds_ = 0, faults_by_seconds_ = 0;
    double faults_ = 0;
    double most_seconds_ = 0;  // all the time of a window, for each of its faults; 0: not known
};

}  // namespace shadowprof

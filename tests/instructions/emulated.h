// Runs cases in the emulator, in child processes, as wrong code may write anywhere.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "case.h"

namespace shadowprof {

class EmulatedRunner {
  public:
    EmulatedRunner() = default;
    ~EmulatedRunner() { stop(); }
    EmulatedRunner(const EmulatedRunner&) = delete;
    EmulatedRunner& operator=(const EmulatedRunner&) = delete;

    // Fills in the outcomes at each level of all cases from number `first` on. `slots` must be
    // memory that is shared with forked processes, and must be the same on each call.
    void run(std::span<Slot> slots, std::uint32_t first = 0);

  private:
    void start(std::span<Slot> slots);
    void stop();
    // The index of the first case that the process did not finish; slots.size() if it finished all.
    std::uint32_t run_from(std::span<Slot> slots, std::uint32_t first);

    pid_t pid_ = -1;
    int channel_ = -1;
    std::uint64_t cases_ = 0;  // cases given to the process
};

}  // namespace shadowprof

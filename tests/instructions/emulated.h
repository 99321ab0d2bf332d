// Runs cases in the emulator, in processes of their own: wrong code may write anywhere.
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

    // Fills in what came of each case from the first given on at each level. `slots` must be memory
    // that is shared with forked processes, and always begin at the same address.
    void run(std::span<Slot> slots, std::uint32_t first = 0);

  private:
    void start(std::span<Slot> slots);
    void stop();
    // The index of the first case that the process did not come to the end of; slots.size() if all
    // did.
    std::uint32_t run_from(std::span<Slot> slots, std::uint32_t first);

    pid_t pid_ = -1;
    int channel_ = -1;
    std::uint64_t cases_ = 0;  // that the process was given
};

}  // namespace shadowprof

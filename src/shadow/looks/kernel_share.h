// How much of the processor time of processes the kernel counts as its own (utime and stime of
// proc_pid_stat(5)). It is known without a privilege, and looks are to agree with it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

namespace shadowprof {

class KernelShare {
  public:
    using Clock = std::chrono::steady_clock;

    // To be called as often as may be; a process is read twice a second.
    void note(std::uint64_t process, pid_t pid, Clock::time_point now);
    // Reads the process now.
    void note_now(std::uint64_t process, pid_t pid, Clock::time_point now);
    // The time until the next note() is left out.
    void pause() { processes_.clear(); }

    // Of all processes together. Nothing if less than half a second is known: the kernel counts in
    // steps of up to ten milliseconds.
    std::optional<double> share() const;

  private:
    struct Process {
        Clock::time_point read;
        std::uint64_t user_ns = 0, system_ns = 0;
    };
    std::map<std::uint64_t, Process> processes_;
    std::uint64_t user_ns_ = 0, system_ns_ = 0;
};

}  // namespace shadowprof

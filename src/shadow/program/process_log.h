// What a run's processes were and how they fared, for the profile. Its memory is bounded, however
// many processes come and go.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "ptrace/thread/wait_status.h"

namespace shadowprof {

class ProcessLog {
  public:
    using Clock = std::chrono::steady_clock;

    explicit ProcessLog(Clock::time_point start) : start_(start) {}

    // Processes are told apart by numbers, which are not used again.
    void begin(std::uint64_t number, pid_t pid, std::optional<pid_t> parent,
               const std::vector<std::string>& command, Clock::time_point now);
    void set_command(std::uint64_t number, const std::vector<std::string>& command);
    // It has ended, or was let go: `status` is empty then.
    void end(std::uint64_t number, const std::optional<WaitStatus>& status, Clock::time_point now);

    // A sample of it was begun, and is finished or came to nothing, which may be after the end of
    // the process.
    void begin_sample(std::uint64_t number);
    void cancel_sample(std::uint64_t number);
    // Its instructions are weighted like those of all others.
    void finish_sample(std::uint64_t number, std::uint64_t instructions);

    std::vector<std::string> command(std::uint64_t number) const;

    // Needs the end of the run: no process is said to have lived longer.
    void fill(Profile& profile, Clock::time_point end) const;

  private:
    struct Record {
        ProcessInfo info;
        unsigned samples_under_way = 0;
        bool ended = false;
    };

    double seconds_until(Clock::time_point now) const;
    void shorten();

    Clock::time_point start_;
    std::map<std::uint64_t, Record> records_;
    std::size_t ended_ = 0;  // of the records
    OtherProcesses others_;  // those that have ended and are no records any more
};

}  // namespace shadowprof

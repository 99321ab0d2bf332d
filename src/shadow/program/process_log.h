// Lists a run's processes and their fates for the profile. Its memory is bounded, however many
// processes come and go.
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

// The note of a profile that so many processes, at least one, outlived the program.
std::string note_of_outliving(std::uint64_t processes);

class ProcessLog {
  public:
    using Clock = std::chrono::steady_clock;

    explicit ProcessLog(Clock::time_point start) : start_(start) {}

    // `number` identifies the process and must not be used again.
    void begin(std::uint64_t number, pid_t pid, std::optional<pid_t> parent,
               const std::vector<std::string>& command, Clock::time_point now);
    void set_command(std::uint64_t number, const std::vector<std::string>& command);
    // The process has ended, or was let go; then `status` is empty.
    void end(std::uint64_t number, const std::optional<WaitStatus>& status, Clock::time_point now);

    // A sample of the process begins, and later is finished or cancelled. That may be after the end
    // of the process.
    void begin_sample(std::uint64_t number);
    void cancel_sample(std::uint64_t number);
    // `instructions` must be weighted like those of all other processes.
    void finish_sample(std::uint64_t number, std::uint64_t instructions);

    std::vector<std::string> command(std::uint64_t number) const;

    // `end` is the end of the run: no process is said to have lived longer.
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
    std::size_t ended_ = 0;  // how many of the records have ended
    OtherProcesses others_;  // sum of the ended processes whose records were dropped
};

}  // namespace shadowprof

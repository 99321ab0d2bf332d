// The sums of an exact run over its processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "shadow/exact/exact_process.h"
#include "shadow/program/process_log.h"
#include "shadow/program/thread_log.h"
#include "shadow/program/unprivileged_programs.h"

namespace shadowprof {

class ExactResults {
  public:
    using Clock = std::chrono::steady_clock;

    // To be called first. `counts_functions`: only calls of certain functions count.
    void begin(Clock::time_point start, bool counts_functions) {
        log_ = ProcessLog(start);
        lives_ = ThreadLog(start);
        counts_functions_ = counts_functions;
    }
    // The processes of the run, to be told of their begins and ends.
    ProcessLog& log() { return log_; }
    // A process has executed another program, which has this command.
    void note_program(std::uint64_t number, pid_t pid, const std::vector<std::string>& command);
    // A process that is followed no longer. `number`: see ProcessLog; 0 is the target.
    void add(std::uint64_t number, pid_t pid, const ExactProcess::Outcome& outcome);
    // A process that is not followed at all.
    void add_unfollowed(std::uint64_t number, pid_t pid, std::string reason);

    std::uint64_t instructions() const { return counts_.instructions; }
    std::uint64_t intervals() const { return stats_.intervals; }

    // Adds everything to `profile`. `end`: of the run.
    void fill(Profile& profile, Clock::time_point end) const;

  private:
    struct Thread {
        pid_t pid, tid;
        std::string name;
        std::uint64_t instructions;
    };
    std::string named(std::uint64_t number, pid_t pid, const std::string& reason) const;
    void add_threads(pid_t pid, const ExactProcess::Outcome& outcome);
    void fill_sampling(SamplingStats& sampling) const;
    void fill_threads(Profile& profile) const;
    void fill_region_notes(std::vector<std::string>& notes) const;
    void fill_notes(std::vector<std::string>& notes) const;

    ProcessLog log_{Clock::time_point()};
    ThreadLog lives_{Clock::time_point()};
    ExactStats stats_;
    ExactTrace::Counts counts_;
    WorkerCounters counters_ = {};
    std::vector<std::string> divergences_;
    std::vector<std::string> reasons_;  // why children are not covered to their end
    std::vector<Thread> threads_;
    UnprivilegedPrograms unprivileged_;
    bool counts_functions_ = false;
    std::uint64_t ended_ = 0, let_go_ = 0, outlived_ = 0;
};

}  // namespace shadowprof

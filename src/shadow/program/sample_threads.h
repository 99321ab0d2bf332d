// Chooses the threads of a stopped process that take part in a sample.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "ptrace/process/target.h"
#include "shadow/program/process_tree.h"
#include "shadow/request/run_options.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

// Knows which threads of a target ran just before a stop, and how often each had been given a
// processor. The stop gives a processor to a thread that has none.
class RunsBeforeStop {
  public:
    // Knows nothing: each thread is taken to have had a processor.
    RunsBeforeStop() = default;
    // Reads nothing if the target has one thread.
    explicit RunsBeforeStop(const Target& target);
    // To be called in the stop. Whether the thread had a processor when the stop began. A thread
    // that waits for us, such as one that is being born, had none. If the kernel does not count,
    // all others had one.
    bool had_processor(pid_t tid) const;
    // Whether only threads that wait for us would have run.
    bool all_wait_for_us() const { return is_read_ && runs_.empty() && one_waits_for_us_; }

  private:
    pid_t pid_ = -1;
    bool is_read_ = false;
    bool one_waits_for_us_ = false;
    pid_t displaced_ = -1;  // the thread whose processor we have taken; -1: none
    std::map<pid_t, std::optional<std::uint64_t>> runs_;
};

// Whether the process is better sampled a moment later, since only threads that wait for us would
// run. Answers true a few times in a row at most, as a process that is stopped by a signal looks
// the same.
bool waits_for_us(SampledProcess& process, const RunsBeforeStop& before);

// Returns the threads that execute instructions, in random order, those that had a processor first.
// Threads that wait on a futex follow, as others can wake them in the sample. Empty if none
// executes. A thread that waits in the kernel for something else does so for the whole of a sample.
std::vector<SampleThread> choose_threads(ScopedStop& stop, ThreadScope scope,
                                         std::mt19937_64& random, const RunsBeforeStop& before);

// How threads are stopped for a live sample, within `longest` and `wait_for_processor`. Threads
// without a processor at that moment are left out: they execute nothing then, and each is sampled
// when it has one. A shadow sample is of all threads, since in its longer time others wait for what
// these do.
StopLimits live_stop_limits(StopLimits::Duration longest, StopLimits::Duration wait_for_processor);
// Returns when to look again if none of several threads had a processor in the last stop, and some
// were left out. The moment is random, so that it does not depend on when threads are given a
// processor.
std::optional<std::chrono::steady_clock::time_point> another_moment(const Target& target,
                                                                    std::mt19937_64& random);

// Returns `pages` without those near the stacks of threads that run beside the first one, as these
// may change them meanwhile.
EarlierPages without_other_stacks(EarlierPages pages, const std::vector<SampleThread>& threads);

std::vector<pid_t> tids_of(const std::vector<SampleThread>& threads);

}  // namespace shadowprof

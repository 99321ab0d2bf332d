// Which threads of a stopped process take part in a sample.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "ptrace/target/target.h"
#include "shadow/program/process_tree.h"
#include "shadow/request/run_options.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

// Which threads of a target ran just before a stop, and how often each had been given a processor.
// One that has none then is given one to stop.
class RunsBeforeStop {
  public:
    // Nothing is known: each thread is taken to have a processor.
    RunsBeforeStop() = default;
    // Reads nothing if the target has one thread.
    explicit RunsBeforeStop(const Target& target);
    // In the stop: the thread had a processor when it began. A thread that waits for us has none,
    // such as one that is being born. Where the kernel does not count, all others have one.
    bool had_processor(pid_t tid) const;
    // Only threads that wait for us would have run.
    bool all_wait_for_us() const { return is_read_ && runs_.empty() && one_waits_for_us_; }

  private:
    pid_t pid_ = -1;
    bool is_read_ = false;
    bool one_waits_for_us_ = false;
    pid_t displaced_ = -1;  // it waits for the processor that we have taken; -1: none does
    std::map<pid_t, std::optional<std::uint64_t>> runs_;
};

// The process is better sampled a moment later: only threads that wait for us would run. That is
// asked a few times in a row at most, as a process that is stopped by a signal looks like that,
// too.
bool waits_for_us(SampledProcess& process, const RunsBeforeStop& before);

// Those that execute instructions, in random order, first those that had a processor; then those
// that wait on a futex, where others can wake them in the sample. Empty if none executes. Who waits
// in the kernel for something else does so for the whole of a sample.
std::vector<SampleThread> choose_threads(ScopedStop& stop, ThreadScope scope,
                                         std::mt19937_64& random, const RunsBeforeStop& before);

// How threads are stopped for a live sample, within `longest` and `wait_for_processor`. Those that
// have no processor at that moment are left out: they execute nothing at it, and each has one when
// its turn comes. A shadow is of all threads: others wait for what they do in so long a sample.
StopLimits live_stop_limits(StopLimits::Duration longest, StopLimits::Duration wait_for_processor);
// Where none of several threads had a processor in the last stop, and some were left out, when to
// look again: at a moment that has nothing to do with when they are given one.
std::optional<std::chrono::steady_clock::time_point> another_moment(const Target& target,
                                                                    std::mt19937_64& random);

// The pages but for those near the stacks of threads that run beside the first one: what these do
// there meanwhile is not known.
EarlierPages without_other_stacks(EarlierPages pages, const std::vector<SampleThread>& threads);

std::vector<pid_t> tids_of(const std::vector<SampleThread>& threads);

}  // namespace shadowprof

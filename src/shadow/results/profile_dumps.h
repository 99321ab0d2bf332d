// Makes profiles of a run under way, beside it.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "shadow/results/profiling.h"

namespace shadowprof {

// What takes long happens in a thread of its own: the one that takes samples hands over what it
// knows and goes on.
class ProfileDumps {
  public:
    // `profiling` must outlive it.
    explicit ProfileDumps(Profiling& profiling) : profiling_(profiling) {}
    ProfileDumps(const ProfileDumps&) = delete;
    ProfileDumps& operator=(const ProfileDumps&) = delete;
    // All that was asked for is written first.
    ~ProfileDumps() { drain(); }

    // Profiles are made one after the other. Does not wait. By one thread at a time.
    void take(DumpRequest request, SampledSoFar sampled);
    // Returns when all were made.
    void drain();

  private:
    using Job = std::pair<DumpRequest, SampledSoFar>;

    void work();
    void make(DumpRequest request, SampledSoFar sampled);
    Result<void> write(DumpReceiver& receiver, Profile profile);
    Result<void> write_phase(DumpReceiver& receiver, SampledSoFar sampled);

    Profiling& profiling_;
    Profile before_;  // the run up to the last phase, in the thread alone
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool quit_ = false;
    std::thread thread_;  // from the first job on
};

}  // namespace shadowprof

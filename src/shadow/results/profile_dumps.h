// Makes profiles of a run while it goes on.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "shadow/results/profiling.h"

namespace shadowprof {

// What takes long happens in a thread of its own. The thread that takes samples passes on what it
// knows and goes on.
class ProfileDumps {
  public:
    // `profiling` must outlive it.
    explicit ProfileDumps(Profiling& profiling) : profiling_(profiling) {}
    ProfileDumps(const ProfileDumps&) = delete;
    ProfileDumps& operator=(const ProfileDumps&) = delete;
    // Writes all that was asked for first.
    ~ProfileDumps() { drain(); }

    // Queues a profile; they are made one after the other. Does not wait. To be called by one
    // thread at a time.
    void take(DumpRequest request, SampledSoFar sampled);
    // Returns when all profiles are made.
    void drain();

  private:
    using Job = std::pair<DumpRequest, SampledSoFar>;

    void work();
    void make(DumpRequest request, SampledSoFar sampled);
    Result<void> write(DumpReceiver& receiver, Profile profile);
    Result<void> write_phase(DumpReceiver& receiver, SampledSoFar sampled);

    Profiling& profiling_;
    Profile before_;  // the run up to the last phase; only used by the thread
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool quit_ = false;
    std::thread thread_;  // started by the first job
};

}  // namespace shadowprof

// A thread that consumes the trace of exact runs while the emulator and the program go on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/memory_map.h"
#include "emu/worker/worker_process.h"

namespace shadowprof {

// Called in the consumer's thread, in the order of execution.
class TraceUser {
  public:
    virtual ~TraceUser() = default;
    // The process executes another program.
    virtual void begin_program() {}
    // The program goes on at another place than where the trace ended. `id` and
    // `stack`, innermost first, are the first thread's. Other threads begin anew.
    virtual void restart(pid_t id, std::vector<GuestAddress> stack) = 0;
    // The thread `id` begins at `index`, or goes on at another place than where its trace ended.
    virtual void begin_thread(GuestThreads::Index /*index*/, pid_t /*id*/,
                              std::vector<GuestAddress> /*stack*/) {}
    // From now on the program has these mappings.
    virtual void set_layout(MemoryMap map) = 0;
    // The oldest record is the last one. Neither is to be trusted: `words`, `table`.
    virtual void use(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                     const BlockTable& table) = 0;
    // What a probe saw between these words. Not to be trusted.
    virtual void use(const ProbeRecord&) {}
    // From now on block ids are those of another emulator.
    virtual void new_emulator() = 0;
    // Words and notes have taken so much processor time, together.
    virtual void spend(std::uint64_t /*cpu_ns*/) {}
};

class TraceConsumer {
  public:
    // `user` must outlive it.
    explicit TraceConsumer(TraceUser& user);
    // Consumes everything first.
    ~TraceConsumer();

    // Returns the segment to `worker` when it is consumed.
    void segment(WorkerProcess& worker, const TraceSegment& segment);
    // These take effect after the segments so far.
    void begin_program();
    void restart(pid_t id, std::vector<GuestAddress> stack);
    void begin_thread(GuestThreads::Index index, pid_t id, std::vector<GuestAddress> stack);
    void set_layout(MemoryMap map);
    void note(const ProbeRecord& record);
    void new_emulator();
    // Returns when everything is consumed.
    void drain();

  private:
    using Job = std::function<void(TraceUser&)>;

    void add(Job job);
    void work();

    TraceUser& user_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool busy_ = false;
    bool quit_ = false;
    std::thread thread_;
};

}  // namespace shadowprof

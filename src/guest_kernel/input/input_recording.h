// What some threads of the target got from their input calls since one snapshot. The thread that
// traces the target adds, the runner of the sample takes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "guest_kernel/input/recorded_input.h"

namespace shadowprof {

class InputRecording {
  public:
    // What is kept and was not taken yet; when that is full, nothing more is recorded.
    static constexpr std::size_t max_bytes = std::size_t{16} << 20;
    // How long a sample waits for the program, at one call and in all: it runs ahead of its samples
    // unless it waits itself.
    static constexpr std::chrono::milliseconds longest_wait{20};
    static constexpr std::chrono::milliseconds longest_waits{200};

    // The threads by the ids that the tracer knows them by. From now on all of their input calls
    // must be added.
    explicit InputRecording(std::span<const pid_t> tids);

    // The tracer's side.

    // Whether what the thread does next can still be of use.
    bool wants(pid_t tid) const;
    void add(pid_t tid, const std::shared_ptr<const RecordedInput>& input);
    // What the thread gets from here on is not known.
    void cut(pid_t tid);
    // For all threads. Nobody waits for them any more.
    void cut_all();
    // Something was added.
    bool has_input() const;

    // The sample's side: the thread's next one. Errors: unsupported, when `call` is another one
    // than the program made, or that is not known; interrupted, when it did not make one in time.
    Result<std::shared_ptr<const RecordedInput>> take(pid_t tid, const InputCall& call);

  private:
    struct Queue {
        std::deque<std::shared_ptr<const RecordedInput>> inputs;
        bool cut = false;
    };

    void cut_all_locked();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<pid_t, Queue> queues_;
    std::size_t bytes_ = 0;
    bool has_input_ = false;
    std::chrono::nanoseconds patience_ = longest_waits;
};

}  // namespace shadowprof

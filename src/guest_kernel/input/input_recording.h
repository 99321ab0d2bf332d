// The results of the input calls of some of the target's threads since one snapshot. The thread
// that traces the target adds them, the runner of the sample takes them.
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
    // The most that is kept without having been taken. Beyond that, all recording ends.
    static constexpr std::size_t max_bytes = std::size_t{16} << 20;
    // How long a sample waits for the program, at one call and in all. The program runs ahead of
    // its samples unless it waits itself.
    static constexpr std::chrono::milliseconds longest_wait{20};
    static constexpr std::chrono::milliseconds longest_waits{200};

    // `tids` are the tracer's ids of the threads. From now on all of their input calls must be
    // added.
    explicit InputRecording(std::span<const pid_t> tids);

    // For the tracer.

    // Whether the thread's next input can still be used.
    bool wants(pid_t tid) const;
    void add(pid_t tid, const std::shared_ptr<const RecordedInput>& input);
    // Ends the thread's recording, as its further input is not known.
    void cut(pid_t tid);
    // Ends the recordings of all threads. Nobody waits for them any more.
    void cut_all();
    // Whether anything was ever added.
    bool has_input() const;

    // For the sample: the thread's next input. Errors: `unsupported` if `call` is not the call that
    // the program made or the recording has ended; `interrupted` if the program has not made a call
    // in time.
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

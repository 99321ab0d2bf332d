// Records the results of the target's input calls while samples of its threads live.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "guest_kernel/input/input_recording.h"
#include "ptrace/thread/syscall_stop.h"
#include "ptrace/thread/syscall_watcher.h"

namespace shadowprof {

// Used in the thread that traces the target, which gives it to Target::watch_syscalls(). While a
// recording lives, its threads stop at each system call, which costs them time. Without a recording
// they do not.
class InputRecorder final : public SyscallWatcher {
  public:
    // Owns a recording, which ends with it.
    class Lease {
      public:
        Lease(Lease&&) = default;
        Lease& operator=(Lease&&) = delete;
        ~Lease();
        const std::shared_ptr<InputRecording>& recording() const { return recording_; }

      private:
        friend class InputRecorder;
        Lease(InputRecorder& recorder, std::shared_ptr<InputRecording> recording)
            : recorder_(&recorder), recording_(std::move(recording)) {}

        InputRecorder* recorder_;
        std::shared_ptr<InputRecording> recording_;
    };

    // Records from now on, until these threads have stopped `max_stops` times. They must stand
    // still, and in no system call but one that restarts when they go on. The recorder must outlive
    // the lease.
    Lease record(std::span<const pid_t> tids, std::uint64_t max_stops);

    bool watches(pid_t tid) const override;
    void on_syscall_stop(const StoppedThread& thread) override;
    void on_signal(pid_t tid, int signal) override;
    void on_thread_end(pid_t tid) override;

    struct Totals {
        std::uint64_t stops = 0;        // at entries and exits of system calls
        std::uint64_t handling_ns = 0;  // time that threads stood still for the work done here
        std::uint64_t calls = 0;        // recorded
        std::uint64_t bytes = 0;        // size of the recorded calls
    };
    const Totals& totals() const { return totals_; }

  private:
    using Clock = std::chrono::steady_clock;

    struct LiveRecording {
        std::shared_ptr<InputRecording> recording;
        std::uint64_t stops_left = 0;
    };
    // An input call after its entry and before its exit.
    struct OpenCall {
        InputCall call;
        std::vector<MemoryBytes> arguments;  // argument_memory()
        Clock::time_point entry;
        bool restarts = false;  // it was interrupted and has not begun again yet
    };
    struct ThreadState {
        std::optional<OpenCall> open;
        int handlers = 0;  // signal handlers that have not returned
    };

    void on_entry(pid_t tid, ThreadState& thread, const SyscallStop& stop);
    void on_exit(pid_t tid, ThreadState& thread, const SyscallStop& stop);
    void on_return_from_handler(pid_t tid, ThreadState& thread, const SyscallStop& stop);
    void open_call(pid_t tid, ThreadState& thread, const InputCall& call);
    bool finish_call(pid_t tid, const OpenCall& open, std::int64_t value);
    void add(pid_t tid, const std::shared_ptr<const RecordedInput>& input);
    void cut(pid_t tid);
    void end(const InputRecording& recording);
    void count_stop(pid_t tid);

    std::vector<LiveRecording> live_;
    std::map<pid_t, ThreadState> threads_;  // the watched ones
    Totals totals_;
};

}  // namespace shadowprof

// What a runner emulates, and what it reports.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/cpu_state.h"
#include "base/files/fd.h"
#include "base/memory_map.h"
#include "emu/worker/worker_process.h"
#include "guest_kernel/environment/environment_proc.h"
#include "profile/code/block_vector.h"
#include "profile/flow/event_bursts.h"
#include "shadow/budget/kind_choice.h"
#include "shadow/window/sample_syscalls.h"
#include "shadow/window/sample_window.h"

namespace shadowprof {

class InputRecording;

// What a sample stands for.
struct SampleShare {
    std::uint64_t weight = 1;     // time of the schedule, in SampleSchedule::weight_unit
    std::uint64_t processes = 1;  // running processes, one of which is sampled
};

// A thread of a snapshot.
struct SampleThread {
    pid_t tid = 0;
    bool runs = true;           // false: it waits on a futex
    bool had_processor = true;  // when the stop began
    bool in_syscall = false;    // it was inside a system call
    double relative_speed = 1;  // speed of its code, relative to that of the others
    CpuState cpu;
};

// A replica. It stands still until RunnerEvent::Kind::emulated.
struct ReplicaSnapshot {
    pid_t pid = 0;
    int memory_fd = -1;                     // valid until then
    bool is_whole = false;                  // it has memory that other forks would leave out
    std::shared_ptr<InputRecording> input;  // null: no input is recorded
};

// The process itself, which stands still until `until` at the latest.
struct LiveSnapshot {
    using Clock = std::chrono::steady_clock;

    pid_t thread = 0;  // one of the process, through which it can be read
    UniqueFd memory;   // its address space
    Clock::time_point until;
    bool is_void = false;  // its mappings were not those of SampleJob::maps_text
};

struct SampleJob {
    // The first thread runs.
    std::vector<SampleThread> threads;
    std::variant<ReplicaSnapshot, LiveSnapshot> snapshot;
    CapturedProcess captured;
    // The mappings. A live sample has them from before its stop, parsed if there was time. The
    // runner reads those of a replica.
    std::string maps_text;
    std::optional<MemoryMap> map;
    RunLimits limits;
    std::uint64_t seed = 0;
    bool follows_new_threads = true;                   // SampleRules::follows_new_threads
    std::optional<BurstPlan> bursts;                   // if not set, everything counts
    std::uint64_t skip_instructions = 0;               // SampleStart::skip_instructions
    std::uint64_t process = 0;                         // SampledProcess::number
    std::uint64_t number = 0;                          // of the run's samples, from 1 on
    std::chrono::steady_clock::time_point stopped_at;  // the begin of its stop
    double scheduled_seconds = 0;                      // the schedule's time that it stands for
    double stands_for_seconds = 0;                     // the program's time that it stands for
    double processors = 1;                             // how many the threads use at the same time
    std::optional<SampleWindow> window;  // that of the first thread; nothing: none was found
    bool may_have_window = false;        // only for a live sample
    bool lost_window = false;            // WindowWatch::is_lost()
    bool needs_window = false;           // without a window the sample does not count
    // How long a live sample is emulated further if its time limit cuts it
    // (WorkerProcess::rehearse).
    std::chrono::nanoseconds rehearsal{0};
    // Only for samples by time (RunOptions::sample_time) that have no window: instructions per
    // second of a thread of relative speed 1.
    std::optional<double> expected_speed;
    bool speed_is_known = false;  // CodeSpeeds::knows()

    // Makes the first thread alone count and stand for all that run. Its speed becomes the unit of
    // speeds.
    void lead_with_first() {
        limits.first_leads = true;
        const double speed = threads[0].relative_speed;
        for (auto& thread : threads) thread.relative_speed /= speed;
        if (expected_speed) *expected_speed *= speed;
    }
    const ReplicaSnapshot* replica() const { return std::get_if<ReplicaSnapshot>(&snapshot); }
    const LiveSnapshot* live() const { return std::get_if<LiveSnapshot>(&snapshot); }
    SampleKind kind() const { return live() ? SampleKind::live : SampleKind::shadow; }
    // Whether nothing of the sample counts.
    bool is_void() const { return lost_window || (live() && live()->is_void); }
    // The processor time, summed over all threads, that the sample stands for.
    double thread_seconds() const { return stands_for_seconds * processors; }
    // The process or thread through which the snapshot can be read.
    pid_t pid() const { return live() ? live()->thread : replica()->pid; }
    int memory_fd() const { return live() ? live()->memory.get() : replica()->memory_fd; }
};

// What one thread executed in a sample.
struct ThreadShare {
    pid_t tid = 0;  // 0: it began in the sample
    std::uint64_t instructions = 0;
};

// Whether a sample reached the state of the program at the end of its window.
enum class WindowEnd : std::uint8_t {
    none,    // it has no window
    met,     // it did, which proves that the emulation is right
    before,  // the emulation had to end before
    missed,  // it did not, though nothing else ended it
};

// Why the end of a window was missed, as far as is known.
enum class MissReason : std::uint8_t {
    asked_time,  // it asked for the time; the program may have got another answer
    asked_kernel,
    other_threads,  // other threads did something else
    memory,         // the registers agreed, but not the memory
    registers,      // the registers never agreed
};

struct SampleReport {
    bool is_void = false;          // nothing counts: SampleJob::is_void(), or it missed its window
    double scheduled_seconds = 0;  // SampleJob::scheduled_seconds
    std::uint64_t process = 0;     // SampleJob::process
    std::uint64_t number = 0;      // SampleJob::number
    std::chrono::steady_clock::time_point stopped_at;  // SampleJob::stopped_at
    pid_t first_thread = 0;                            // SampleJob::threads
    SampleKind kind = SampleKind::shadow;
    std::uint32_t weight = 1;  // sample_weight()
    WindowEnd window = WindowEnd::none;
    bool has_recorded_input = false;               // ReplicaSnapshot::input
    bool tried_window = false;                     // SampleJob::may_have_window
    bool window_was_empty = false;                 // the program executed nothing in it
    MissReason missed_by = MissReason::registers;  // if the window was missed
    std::optional<WindowTime> of_window;           // if the window was met
    std::uint64_t window_instructions = 0;         // the same; approximate in a live sample
    GuestAddress began_at;                         // where the first thread was at the start
    pid_t pid = 0;                                 // the sampled process
    SampleEnd end = SampleEnd::worker_lost;
    std::uint64_t instructions = 0;     // counted in the profile
    std::vector<ThreadShare> threads;   // parts of `instructions`, none of which is 0
    std::uint64_t stopped_threads = 0;  // RunResult::stopped_threads
    std::uint64_t single_stepped = 0;
    WorkerCounters counters = {};
    std::uint64_t collector_cpu_ns = 0;
    RehearsedMessage rehearsed = {};
    BlockVector blocks;
    std::optional<SyscallReport> syscalls;
    std::optional<GuestAddress> missing;  // address of a fault where the replica had no memory
    bool wiped = false;  // the replica had zeros where the target has data: nothing was counted
    bool trace_damaged = false;
    bool replace_worker = false;  // the worker is lost, or cannot translate any more
    std::string error;            // why the worker is lost
};

}  // namespace shadowprof

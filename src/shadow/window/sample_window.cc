#include "shadow/window/sample_window.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/remote/rseq_area.h"
#include "ptrace/thread/process_memory.h"

namespace shadowprof {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// If faults and stops took more than this share of a window, the rest is not known well enough.
constexpr double max_taken_share = 0.5;
// Windows are at least this many times as long as the faults in them take.
constexpr double storm_margin = 3;
constexpr double longest_storm_seconds = 10e-3;
constexpr double storm_smoothing = 0.25;
// A replica that lives longer costs more than its window is worth.
constexpr milliseconds longest_wait{30};
// The end of a window is sought among at least this many instructions.
constexpr std::uint64_t fewest_instructions = 100'000;

}  // namespace

nanoseconds FaultStorms::min_window() const {
    const std::chrono::duration<double> length(storm_margin *
                                               std::min(seconds_, longest_storm_seconds));
    return std::chrono::duration_cast<nanoseconds>(length);
}

void FaultStorms::observe(double fault_seconds) {
    seconds_ = is_known_ ? seconds_ + storm_smoothing * (fault_seconds - seconds_) : fault_seconds;
    is_known_ = true;
}

Result<WindowWatch> WindowWatch::begin(pid_t pid, pid_t tid, const CpuState& cpu,
                                       const WindowLimits& limits, double fault_seconds,
                                       EarlierPages earlier, StateRoom& room) {
    WindowWatch watch(pid, tid, cpu, limits, fault_seconds, std::move(earlier), room);
    const auto usage = watch.usage();
    if (!usage) return Error{ErrorCode::gone, 0, "the thread has ended"};
    watch.begin_ = *usage;
    watch.own_faults_per_second_ =
        static_cast<double>(usage->minor_faults) / (static_cast<double>(usage->cpu_ns) / 1e9);
    return watch;
}

WindowWatch::WindowWatch(pid_t pid, pid_t tid, const CpuState& cpu, const WindowLimits& limits,
                         double fault_seconds, EarlierPages earlier, StateRoom& room)
    : pid_(pid),
      tid_(tid),
      limits_(limits),
      fault_seconds_(fault_seconds),
      earlier_(std::move(earlier)),
      room_(&room),
      snapshot_(cpu) {
    start(Clock::now());
}

void WindowWatch::start(Clock::time_point now, EarlierPages earlier) {
    earlier_ = std::move(earlier);
    start(now);
}

void WindowWatch::start(Clock::time_point now) {
    give_up_ = now + longest_wait + 2 * limits_.length;
    next_observation_ = now + limits_.length;
}

std::optional<WindowWatch::Usage> WindowWatch::usage() const {
    const auto runs = read_thread_runs(pid_, tid_);
    if (!runs && limits_.has_other_threads) return std::nullopt;
    Usage usage{.cpu_ns = runs ? runs->run_ns : read_cpu_ns(pid_), .minor_faults = 0};
    if (usage.cpu_ns == 0) return std::nullopt;
    if (fault_seconds_ == 0) return usage;
    const auto stat = read_thread_stat(pid_, tid_);
    if (!stat) return std::nullopt;
    usage.minor_faults = stat->minor_faults;
    return usage;
}

WindowWatch::Observed WindowWatch::observe(Target& target, Clock::time_point now) {
    const auto used = usage();
    if (!used) return {};
    is_late_ = now >= give_up_ || since_begin(*used) > limits_.longest;
    if (is_late_) return {};
    return now < next_observation_ ? Observed{.goes_on = true} : mark_end(target, now);
}

nanoseconds WindowWatch::since_begin(const Usage& now) const {
    return nanoseconds(now.cpu_ns - begin_.cpu_ns);
}

// Measures in a stop what was estimated from outside: the thread may have waited for a processor.
WindowWatch::Observed WindowWatch::mark_end(Target& target, Clock::time_point now) {
    Observed observed;
    end_ = mark(target, observed.pause);
    if (!end_) return observed;
    const auto passed = since_begin(end_->usage);
    is_late_ = passed > limits_.longest;
    if (is_late_ || passed >= limits_.length / 2) return observed;
    observed.goes_on = ++retries_ <= limits_.max_retries;
    is_late_ = !observed.goes_on;
    next_observation_ = now + limits_.length;
    end_.reset();
    return observed;
}

// Returns nothing if the thread sleeps or has ended.
std::optional<WindowWatch::Mark> WindowWatch::mark(Target& target,
                                                   std::optional<nanoseconds>& pause) {
    Mark made{.copy = StateCopy(tid_, earlier_, *room_), .usage = {}};
    bool is_made = false;
    {
        auto stop = target.stop(Target::Sleepers::leave_rarely_woken, limits_.stop);
        is_made = stop && copy_state(*stop, made);
    }
    pause = target.last_pause();
    if (!is_made) return std::nullopt;
    made.copy.finish();
    return made;
}

bool WindowWatch::copy_state(ScopedStop& stop, Mark& made) const {
    const auto thread =
        std::ranges::find(stop.threads(), tid_, [](const auto& each) { return each.tid(); });
    if (stop.in_group_stop() || thread == stop.threads().end()) return false;
    const auto snapshot = thread->snapshot();
    const auto used = usage();
    if (!snapshot || !used || snapshot->blocked_syscall) return false;
    made.usage = *used;
    const auto area = read_rseq_area(*thread);
    return made.copy.take(snapshot->cpu,
                          area ? MemoryRange{area->start, area->end} : MemoryRange{});
}

std::optional<SampleWindow> WindowWatch::take() {
    if (!end_ || is_late_) return std::nullopt;
    const std::chrono::duration<double> passed = since_begin(end_->usage);
    const auto all = static_cast<double>(end_->usage.minor_faults - begin_.minor_faults);
    const auto induced = std::max(all - own_faults_per_second_ * passed.count(), 0.0);
    const auto possible =
        static_cast<std::uint64_t>(passed.count() * limits_.max_instructions_per_second) +
        fewest_instructions;
    SampleWindow window{
        .end = end_->copy.state(snapshot_),
        .time = {.seconds = {}, .passed_seconds = passed.count(), .faults = induced},
        .max_instructions = std::min(possible, limits_.max_instructions),
        .may_end_beyond = possible > limits_.max_instructions};
    const auto taken = induced * fault_seconds_ + limits_.stop_seconds;
    if (passed.count() > 0 && taken <= max_taken_share * passed.count())
        window.time.seconds = passed.count() - taken;
    return window;
}

}  // namespace shadowprof

#include "shadow/sample_window.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ptrace/proc.h"
#include "ptrace/process_memory.h"

namespace shadowprof {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Between two looks.
constexpr microseconds window_look_period{300};
// Faults that take a smaller part of the time are few; what they took is taken off a window. Behind
// a fork one takes several times what it costs by itself: caches and address translations are lost
// with it.
constexpr double most_fault_share = 0.25;
constexpr double fault_aftermath = 4;
// A replica that lives for longer costs more than its window is worth.
constexpr milliseconds longest_wait{30};
// Stops for an end that turned out to be none.
constexpr unsigned most_retries = 3;

// Of a window that ends soon after the snapshot.
constexpr std::uint64_t fewest_instructions = 100'000;

}  // namespace

Result<WindowWatch> WindowWatch::begin(pid_t pid, pid_t tid, const CpuState& cpu,
                                       const WindowLimits& limits, double fault_seconds,
                                       pid_t replica_pid) {
    WindowWatch watch(pid, tid, cpu, limits, fault_seconds, replica_pid);
    const auto usage = watch.usage();
    if (!usage) return Error{ErrorCode::gone, 0, "the thread has ended"};
    watch.last_ = *usage;
    watch.began_cpu_ns_ = usage->cpu_ns;
    watch.faults_at_look_ = usage->minor_faults;
    watch.own_faults_per_second_ =
        static_cast<double>(usage->minor_faults) / (static_cast<double>(usage->cpu_ns) / 1e9);
    return watch;
}

WindowWatch::WindowWatch(pid_t pid, pid_t tid, const CpuState& cpu, const WindowLimits& limits,
                         double fault_seconds, pid_t replica_pid)
    : pid_(pid),
      tid_(tid),
      limits_(limits),
      fault_seconds_(fault_seconds),
      replica_pid_(replica_pid),
      snapshot_(cpu),
      began_(Clock::now()),
      last_look_(began_),
      give_up_(began_ + longest_wait + 2 * limits.length),
      next_look_(began_ + std::min<nanoseconds>(limits.length, window_look_period)) {}

std::optional<WindowWatch::Usage> WindowWatch::usage() const {
    const auto stat = read_thread_stat(pid_, tid_);
    const auto runs = read_thread_runs(pid_, tid_);
    const auto cpu_ns = runs ? runs->run_ns : read_cpu_ns(pid_);
    if (!stat || cpu_ns == 0) return std::nullopt;
    return Usage{cpu_ns, stat->minor_faults};
}

WindowWatch::Looked WindowWatch::look(Target& target, Clock::time_point now) {
    const auto used = usage();
    if (!used) return {};
    is_late_ = now >= give_up_ || !may_still_end(*used);
    if (is_late_) return {};
    if (now < next_look_) return {.goes_on = true};
    if (has_begun_) return mark_end(target, now);
    const auto passed = now - last_look_;
    next_look_ = now + window_look_period;
    last_look_ = now;
    const bool was_quiet = is_quiet(used->minor_faults - faults_at_look_, passed);
    faults_at_look_ = used->minor_faults;
    if (!was_quiet) {
        storms_ = true;
        return {.goes_on = true};
    }
    has_begun_ = true;
    if (storms_) return mark_begin(target, now);
    next_look_ = std::max(now, began_ + limits_.length);
    return next_look_ <= now ? mark_end(target, now) : Looked{.goes_on = true};
}

// What those of so many faults are likely to have taken that the program would not have had by
// itself.
double WindowWatch::taken_by(std::uint64_t faults, std::chrono::duration<double> passed) const {
    const auto induced = static_cast<double>(faults) - own_faults_per_second_ * passed.count();
    return std::max(induced, 0.0) * fault_seconds_ * fault_aftermath;
}

// Whether so many faults take a small part of the time.
bool WindowWatch::is_quiet(std::uint64_t faults, std::chrono::duration<double> passed) const {
    return taken_by(faults, passed) < passed.count() * most_fault_share;
}

// Whether a window could begin and end within the limits, from now on.
bool WindowWatch::may_still_end(const Usage& now) const {
    const nanoseconds since_snapshot(now.cpu_ns - began_cpu_ns_);
    if (storms_ && !has_begun_) return since_snapshot <= limits_.latest_begin;
    const nanoseconds before(begin_ ? begin_->usage.cpu_ns - began_cpu_ns_ : 0);
    return since_snapshot - before <= limits_.longest;
}

WindowWatch::Looked WindowWatch::mark_begin(Target& target, Clock::time_point now) {
    Looked looked;
    begin_ = mark(target, looked.pause);
    if (begin_) begin_at(*begin_, now);
    looked.goes_on = begin_.has_value();
    return looked;
}

void WindowWatch::begin_at(const Mark& mark, Clock::time_point now) {
    last_ = mark.usage;
    next_look_ = now + limits_.length;
}

// What was seen from outside is made certain: the thread may have waited for a processor, and had
// its faults since.
WindowWatch::Looked WindowWatch::mark_end(Target& target, Clock::time_point now) {
    Looked looked;
    end_ = mark(target, looked.pause);
    if (!end_) return looked;
    const nanoseconds passed(end_->usage.cpu_ns - last_.cpu_ns);
    const bool is_short = passed < limits_.length / 2;
    const bool is_loud = !is_quiet(end_->usage.minor_faults - last_.minor_faults, passed);
    is_late_ = !may_still_end(end_->usage);
    if (is_late_ || (!is_short && !is_loud)) return looked;
    looked.goes_on = ++retries_ <= most_retries;
    is_late_ = !looked.goes_on && !is_loud;
    if (is_loud) {
        begin_ = *end_;
        begin_at(*begin_, now);
    }
    next_look_ = now + limits_.length;
    end_.reset();
    return looked;
}

// Nothing: the thread sleeps, or has ended.
std::optional<WindowWatch::Mark> WindowWatch::mark(Target& target,
                                                   std::optional<nanoseconds>& pause) {
    Mark made{.copy = StateCopy(tid_, replica_pid_), .usage = {}};
    bool is_made = false;
    {
        auto stop = target.stop(Target::Sleepers::leave_alone);
        if (!stop) return std::nullopt;
        is_made = copy_state(*stop, made);
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
    return made.copy.take(snapshot->cpu);
}

std::uint64_t WindowWatch::most_instructions() const {
    const auto ns = static_cast<double>(end_->usage.cpu_ns - began_cpu_ns_);
    const auto likely = ns / 1e9 * limits_.most_instructions_per_second;
    return std::min(static_cast<std::uint64_t>(likely) + fewest_instructions,
                    limits_.most_instructions);
}

std::optional<SampleWindow> WindowWatch::take() {
    if (!end_ || is_late_) return std::nullopt;
    SampleWindow window;
    const std::chrono::duration<double> passed = nanoseconds(end_->usage.cpu_ns - last_.cpu_ns);
    window.seconds =
        passed.count() - taken_by(end_->usage.minor_faults - last_.minor_faults, passed);
    if (window.seconds <= 0) return std::nullopt;
    if (begin_) window.states.push_back(begin_->copy.state(snapshot_));
    window.states.push_back(begin_ ? end_->copy.state(begin_->copy) : end_->copy.state(snapshot_));
    return window;
}

}  // namespace shadowprof

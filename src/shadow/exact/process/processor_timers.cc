#include "shadow/exact/process/processor_timers.h"

#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "guest_kernel/forward/wait_times.h"

namespace shadowprof {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000, ns_per_us = 1000, us_per_s = 1'000'000;
// Beyond any program's life, and far from an overflow.
constexpr std::int64_t longest_s = 1'000'000'000;
constexpr std::uint64_t most_overruns = std::numeric_limits<std::int32_t>::max();
constexpr std::array interval_kinds = {ITIMER_VIRTUAL, ITIMER_PROF};
constexpr std::array interval_signals = {SIGVTALRM, SIGPROF};

// Nothing if the kernel would refuse it (EINVAL).
std::optional<std::int64_t> ns_of(const timeval& time) {
    if (time.tv_sec < 0 || time.tv_usec < 0 || time.tv_usec >= us_per_s) return std::nullopt;
    return std::min<std::int64_t>(time.tv_sec, longest_s) * ns_per_s + time.tv_usec * ns_per_us;
}
// Rounded up: a timer that is armed has time left.
timeval timeval_of(std::int64_t ns) {
    const std::int64_t us = (ns + ns_per_us - 1) / ns_per_us;
    return {us / us_per_s, us % us_per_s};
}
timespec timespec_of(std::int64_t ns) {
    return {ns / ns_per_s, ns % ns_per_s};
}

template <typename T>
bool write_value(WritableMemory& memory, GuestAddress to, const T& value) {
    return memory.write(to, std::as_bytes(std::span(&value, 1)));
}

}  // namespace

// Clocks of processor time other than the process's and the thread's own have negative numbers
// (CPUCLOCK_* of include/linux/posix-timers.h); so have clocks of devices, with these low bits.
bool is_processor_clock(std::int32_t clock) {
    constexpr std::uint32_t kind_bits = 7, device = 3;
    if (clock < 0) return (static_cast<std::uint32_t>(clock) & kind_bits) != device;
    return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
}

void ProcessorTimers::Timer::arm(std::int64_t first_ns, std::int64_t period, std::int64_t now_ns) {
    due_ns = first_ns == 0 ? never_ns : now_ns + first_ns;
    period_ns = period;
}

std::uint64_t ProcessorTimers::Timer::wind_on(std::int64_t now_ns) {
    if (period_ns == 0) {
        due_ns = never_ns;
        return 0;
    }
    const auto more = (now_ns - due_ns) / period_ns;
    due_ns += (more + 1) * period_ns;
    return static_cast<std::uint64_t>(more);
}

std::int64_t ProcessorTimers::Timer::left_ns(std::int64_t now_ns) const {
    return due_ns == never_ns ? 0 : std::max<std::int64_t>(due_ns - now_ns, 1);
}

std::optional<std::int64_t> ProcessorTimers::call(std::int64_t number,
                                                  const CallArguments& arguments,
                                                  WritableMemory& memory, std::int64_t now_ns) {
    last_now_ns_ = std::max(last_now_ns_, now_ns);
    const auto kind = static_cast<std::int32_t>(arguments[0]);
    const bool is_interval = kind == ITIMER_VIRTUAL || kind == ITIMER_PROF;
    switch (number) {
        case SYS_getitimer:
            if (!is_interval) return std::nullopt;
            return get_interval(intervals_[kind == ITIMER_PROF], {arguments[1]}, memory, now_ns);
        case SYS_setitimer:
            if (!is_interval) return std::nullopt;
            return set_interval(intervals_[kind == ITIMER_PROF], arguments, memory, now_ns);
        default:
            return call_created(number, arguments, memory, now_ns);
    }
}

std::int64_t ProcessorTimers::get_interval(const Timer& timer, GuestAddress to,
                                           WritableMemory& memory, std::int64_t now_ns) {
    const itimerval value{timeval_of(timer.period_ns), timeval_of(timer.left_ns(now_ns))};
    return write_value(memory, to, value) ? 0 : -EFAULT;
}

std::int64_t ProcessorTimers::set_interval(Timer& timer, const CallArguments& arguments,
                                           WritableMemory& memory, std::int64_t now_ns) {
    itimerval value = {};
    if (arguments[1] != 0) {
        const auto found = read_value<itimerval>(memory, {arguments[1]});
        if (!found) return -EFAULT;
        value = *found;
    }
    const auto first = ns_of(value.it_value), period = ns_of(value.it_interval);
    if (!first || !period) return -EINVAL;
    const Timer before = timer;
    timer.arm(*first, *period, now_ns);
    return arguments[2] == 0 ? 0 : get_interval(before, {arguments[2]}, memory, now_ns);
}

void ProcessorTimers::note(std::int64_t number, const CallArguments& arguments, std::int64_t result,
                           MemoryReader& memory) {
    const auto first = static_cast<std::int32_t>(arguments[0]);
    if (result != 0) return;
    if (number == SYS_timer_create && is_processor_clock(first)) note_created(arguments, memory);
    if (number == SYS_timer_delete) created_.erase(first);
}

void ProcessorTimers::note_created(const CallArguments& arguments, MemoryReader& memory) {
    const auto id = read_value<std::int32_t>(memory, {arguments[2]});
    if (!id) return;
    Created timer;
    timer.value = static_cast<std::uint64_t>(*id);
    if (arguments[1] != 0) {
        const auto event = read_value<sigevent>(memory, {arguments[1]});
        if (!event) return;
        timer.notification = event->sigev_notify;
        timer.signal = event->sigev_signo;
        timer.value = reinterpret_cast<std::uint64_t>(event->sigev_value.sival_ptr);
        if (timer.notification == SIGEV_THREAD_ID) timer.thread = event->_sigev_un._tid;
    }
    created_[*id] = timer;
}

std::optional<std::int64_t> ProcessorTimers::call_created(std::int64_t number,
                                                          const CallArguments& arguments,
                                                          WritableMemory& memory,
                                                          std::int64_t now_ns) {
    const auto found = created_.find(static_cast<std::int32_t>(arguments[0]));
    if (found == created_.end()) return std::nullopt;
    Created& timer = found->second;
    switch (number) {
        case SYS_timer_settime:
            return set_time(timer, arguments, memory, now_ns);
        case SYS_timer_gettime:
            return get_time(timer, {arguments[1]}, memory, now_ns);
        case SYS_timer_getoverrun:
            return static_cast<std::int64_t>(std::min(timer.overruns, most_overruns));
        default:
            return std::nullopt;
    }
}

// A timer that signals nobody is wound on when it is looked at.
std::int64_t ProcessorTimers::get_time(Created& timer, GuestAddress to, WritableMemory& memory,
                                       std::int64_t now_ns) {
    if (timer.notification == SIGEV_NONE && timer.is_due(now_ns))
        static_cast<void>(timer.wind_on(now_ns));
    const itimerspec value{timespec_of(timer.period_ns), timespec_of(timer.left_ns(now_ns))};
    return write_value(memory, to, value) ? 0 : -EFAULT;
}

std::int64_t ProcessorTimers::set_time(Created& timer, const CallArguments& arguments,
                                       WritableMemory& memory, std::int64_t now_ns) {
    const auto value = read_value<itimerspec>(memory, {arguments[2]});
    if (!value) return arguments[2] == 0 ? -EINVAL : -EFAULT;
    const auto first = ns_of(value->it_value, longest_s);
    const auto period = ns_of(value->it_interval, longest_s);
    if (!first || !period) return -EINVAL;
    Created before = timer;
    const bool is_absolute = (arguments[1] & TIMER_ABSTIME) != 0 && *first != 0;
    timer.arm(*first, *period, is_absolute ? 0 : now_ns);
    timer.overruns = 0;
    return arguments[3] == 0 ? 0 : get_time(before, {arguments[3]}, memory, now_ns);
}

std::int64_t ProcessorTimers::deadline_ns() const {
    std::int64_t least = never_ns;
    for (const Timer& timer : intervals_) least = std::min(least, timer.due_ns);
    for (const auto& [id, timer] : created_)
        if (timer.notification != SIGEV_NONE) least = std::min(least, timer.due_ns);
    return std::max(least, not_before_ns_);
}

std::vector<ProcessorTimers::ArmingCall> ProcessorTimers::arming_calls() const {
    const auto now_ns = last_now_ns_;
    std::vector<ArmingCall> calls;
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
        if (intervals_[i].due_ns == never_ns) continue;
        const auto period = timeval_of(intervals_[i].period_ns);
        const auto left = timeval_of(intervals_[i].left_ns(now_ns));
        calls.push_back({SYS_setitimer,
                         static_cast<std::uint64_t>(interval_kinds[i]),
                         {period.tv_sec, period.tv_usec, left.tv_sec, left.tv_usec}});
    }
    for (const auto& [id, timer] : created_) {
        if (timer.due_ns == never_ns) continue;
        const auto period = timespec_of(timer.period_ns), left = timespec_of(timer.left_ns(now_ns));
        calls.push_back({SYS_timer_settime,
                         static_cast<std::uint64_t>(id),
                         {period.tv_sec, period.tv_nsec, left.tv_sec, left.tv_nsec}});
    }
    return calls;
}

std::vector<ProcessorTimers::Signal> ProcessorTimers::take_due(std::int64_t now_ns) {
    last_now_ns_ = std::max(last_now_ns_, now_ns);
    not_before_ns_ = now_ns + least_period_ns;
    std::vector<Signal> signals;
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
        if (!intervals_[i].is_due(now_ns)) continue;
        static_cast<void>(intervals_[i].wind_on(now_ns));
        Signal signal;
        signal.info.si_signo = interval_signals[i];
        signal.info.si_code = SI_KERNEL;
        signals.push_back(signal);
    }
    for (auto& [id, timer] : created_) {
        if (timer.notification == SIGEV_NONE || !timer.is_due(now_ns)) continue;
        timer.overruns = timer.wind_on(now_ns);
        Signal signal{.thread = timer.thread};
        signal.info.si_signo = timer.signal;
        signal.info.si_code = SI_TIMER;
        signal.info.si_timerid = id;
        signal.info.si_overrun = static_cast<int>(std::min(timer.overruns, most_overruns));
        signal.info.si_value.sival_ptr = reinterpret_cast<void*>(timer.value);
        signals.push_back(signal);
    }
    return signals;
}

}  // namespace shadowprof

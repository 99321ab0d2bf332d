#include "guest_kernel/forward/wait_times.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <array>

namespace shadowprof {
namespace {

constexpr std::int64_t one_second_in_ns = 1'000'000'000, one_ms_in_ns = 1'000'000;
// Enough for any wait, and far from an overflow.
constexpr std::int64_t longest_seconds = 1'000'000'000;

enum class TimeForm : std::uint8_t { milliseconds, timespec, timeval };

struct WaitingCall {
    std::uint32_t number;
    std::size_t argument;  // has the time, or where it is
    TimeForm form;
    std::int64_t timed_out = 0;  // the result when it is over
};

constexpr std::array waiting_calls{WaitingCall{SYS_poll, 2, TimeForm::milliseconds},
                                   WaitingCall{SYS_select, 4, TimeForm::timeval},
                                   WaitingCall{SYS_nanosleep, 0, TimeForm::timespec},
                                   WaitingCall{SYS_futex, 3, TimeForm::timespec, -ETIMEDOUT},
                                   WaitingCall{SYS_semtimedop, 3, TimeForm::timespec, -EAGAIN},
                                   WaitingCall{SYS_clock_nanosleep, 2, TimeForm::timespec},
                                   WaitingCall{SYS_rt_sigtimedwait, 2, TimeForm::timespec, -EAGAIN},
                                   WaitingCall{SYS_epoll_wait, 3, TimeForm::milliseconds},
                                   WaitingCall{SYS_epoll_pwait, 3, TimeForm::milliseconds},
                                   WaitingCall{SYS_epoll_pwait2, 3, TimeForm::timespec},
                                   WaitingCall{SYS_pselect6, 4, TimeForm::timespec},
                                   WaitingCall{SYS_ppoll, 2, TimeForm::timespec}};

const WaitingCall* find_call(std::uint32_t number) {
    const auto found = std::ranges::find(waiting_calls, number, &WaitingCall::number);
    return found == waiting_calls.end() ? nullptr : &*found;
}

// Whether the time is a moment, or no time at all.
bool is_other_time(std::uint32_t number, const CallArguments& a) {
    if (number == SYS_clock_nanosleep) return (a[1] & TIMER_ABSTIME) != 0;
    constexpr auto command_bits = static_cast<std::uint32_t>(FUTEX_CMD_MASK);
    return number == SYS_futex && (static_cast<std::uint32_t>(a[1]) & command_bits) != FUTEX_WAIT;
}

}  // namespace

std::optional<std::int64_t> ns_of(const timespec& time, std::int64_t most_seconds) {
    if (time.tv_sec < 0 || time.tv_nsec < 0 || time.tv_nsec >= one_second_in_ns)
        return std::nullopt;
    return std::min<std::int64_t>(time.tv_sec, most_seconds) * one_second_in_ns + time.tv_nsec;
}

std::optional<std::int64_t> longest_wait_ns(std::uint32_t number, const CallArguments& a,
                                            GuestSpace& space) {
    const WaitingCall* call = find_call(number);
    if (call == nullptr || is_other_time(number, a)) return std::nullopt;
    const std::uint64_t argument = a[call->argument];
    if (call->form == TimeForm::milliseconds) {
        const auto milliseconds = static_cast<std::int32_t>(argument);
        return milliseconds < 0 ? std::nullopt : std::optional(milliseconds * one_ms_in_ns);
    }
    if (argument == 0) return std::nullopt;
    if (call->form == TimeForm::timeval) {
        const auto time = read_value<timeval>(space, {argument});
        // The kernel adds microseconds beyond a second to the seconds.
        return time ? ns_of({time->tv_sec + time->tv_usec / 1'000'000,
                             time->tv_usec % 1'000'000 * 1'000},
                            longest_seconds)
                    : std::nullopt;
    }
    const auto time = read_value<timespec>(space, {argument});
    return time ? ns_of(*time, longest_seconds) : std::nullopt;
}

std::uint64_t timed_out(std::uint32_t number) {
    const WaitingCall* call = find_call(number);
    return call == nullptr ? 0 : static_cast<std::uint64_t>(call->timed_out);
}

}  // namespace shadowprof

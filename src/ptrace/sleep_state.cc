#include "ptrace/sleep_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "base/fd.h"
#include "ptrace/process_memory.h"

namespace shadowprof {
namespace {

using Arguments = std::array<std::uint64_t, 6>;
// FUTEX_CMD_MASK is a signed number.
constexpr auto futex_command_mask =
    static_cast<std::uint64_t>(static_cast<std::int64_t>(FUTEX_CMD_MASK));

using IsInvisible = bool (*)(pid_t pid, const Arguments& arguments);

constexpr IsInvisible always = nullptr;

// Of a socket with a time-out (SO_RCVTIMEO), a read returns EINTR.
bool is_no_socket(pid_t pid, const Arguments& arguments) {
    std::array<char, 8> link;
    const auto path = fmt::format("/proc/{}/fd/{}", pid, static_cast<int>(arguments[0]));
    const ssize_t length = ::readlink(path.c_str(), link.data(), link.size());
    return length > 0 && !std::string_view(link.data(), link.size()).starts_with("socket:");
}

// FUTEX_WAIT_REQUEUE_PI returns EAGAIN.
bool is_plain_futex(pid_t, const Arguments& arguments) {
    const auto operation = arguments[1] & futex_command_mask;
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
           operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
}

// The time that is left is written at any stop.
bool wants_no_rest_of_nanosleep(pid_t, const Arguments& arguments) {
    return arguments[1] == 0;
}
bool wants_no_rest_of_clock_nanosleep(pid_t, const Arguments& arguments) {
    return (arguments[1] & TIMER_ABSTIME) != 0 || arguments[3] == 0;
}

// With a time-out they store what is left of it, and return EINTR where that memory cannot be
// written to.
template <std::size_t timeout>
bool has_no_timeout(pid_t, const Arguments& arguments) {
    return arguments[timeout] == 0;
}

// Calls in which a stop is not noticed; some only with certain arguments.
struct InvisibleRow {
    std::uint64_t number;
    IsInvisible condition;
};
constexpr InvisibleRow invisible[] = {
    {SYS_clock_nanosleep, wants_no_rest_of_clock_nanosleep},
    {SYS_fcntl, always},
    {SYS_flock, always},
    {SYS_futex, is_plain_futex},
    {SYS_mq_timedreceive, always},
    {SYS_mq_timedsend, always},
    {SYS_msgrcv, always},
    {SYS_msgsnd, always},
    {SYS_nanosleep, wants_no_rest_of_nanosleep},
    {SYS_open, always},
    {SYS_openat, always},
    {SYS_pause, always},
    {SYS_poll, always},
    {SYS_ppoll, has_no_timeout<2>},
    {SYS_pselect6, has_no_timeout<4>},
    {SYS_read, is_no_socket},
    {SYS_restart_syscall, always},
    {SYS_rt_sigsuspend, always},
    {SYS_select, has_no_timeout<4>},
    {SYS_wait4, always},
    {SYS_waitid, always},
};

// What returns EINTR at a stop though no handler runs. The socket calls do so if the socket has a
// time-out (SO_RCVTIMEO, SO_SNDTIMEO), and those with a time-out if it cannot be written to.
constexpr std::array<std::uint64_t, 26> interrupted = {
    SYS_epoll_wait, SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_epoll_wait_old, SYS_semop,
    SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents, SYS_io_pgetevents,  SYS_io_uring_enter,
    SYS_accept,     SYS_accept4,         SYS_connect,      SYS_recvfrom,       SYS_recvmsg,
    SYS_recvmmsg,   SYS_sendto,          SYS_sendmsg,      SYS_sendmmsg,       SYS_read,
    SYS_readv,      SYS_write,           SYS_writev,       SYS_select,         SYS_pselect6,
    SYS_ppoll,
};

// The time-outs of calls that return EINTR.
struct TimeoutRow {
    std::uint64_t number;
    std::size_t argument;  // which of them holds the time-out
    bool in_milliseconds;  // an int; else the address of a timespec
    std::int64_t result;   // of the call, when the time-out is over
};
constexpr TimeoutRow timeouts[] = {
    {SYS_epoll_wait, 3, true, 0},
    {SYS_epoll_pwait, 3, true, 0},
    {SYS_epoll_pwait2, 3, false, 0},
    {SYS_semtimedop, 3, false, -EAGAIN},
    {SYS_rt_sigtimedwait, 2, false, -EAGAIN},
    {SYS_io_getevents, 4, false, 0},
    {SYS_io_pgetevents, 4, false, 0},
};

// Nothing: none, or it cannot be read.
std::optional<std::chrono::nanoseconds> read_timeout(pid_t tid, const TimeoutRow& row,
                                                     const SleepingCall& call) {
    const std::uint64_t argument = call.arguments[row.argument];
    if (row.in_milliseconds) {
        const auto milliseconds = static_cast<std::int32_t>(argument);
        if (milliseconds < 0) return std::nullopt;
        return std::chrono::milliseconds(milliseconds);
    }
    ProcessMemory memory(tid);
    const auto time = read_value<timespec>(memory, {argument});
    // As many seconds as do not overflow: 30 years.
    if (!time || time->tv_sec < 0 || time->tv_sec > 1'000'000'000) return std::nullopt;
    return std::chrono::seconds(time->tv_sec) + std::chrono::nanoseconds(time->tv_nsec);
}

const TimeoutRow* find_timeout(std::uint64_t number) {
    const auto* row = std::find_if(std::begin(timeouts), std::end(timeouts),
                                   [&](const auto& each) { return each.number == number; });
    return row == std::end(timeouts) ? nullptr : row;
}

// Whether the time-out is over, counted from the call's first restart. An interruption that comes
// later than the time-out after the last one is of a new call.
bool is_over(const SleepingCall& call, std::chrono::nanoseconds timeout,
             std::optional<RestartedCall>& earlier) {
    const auto now = std::chrono::steady_clock::now();
    if (!earlier || earlier->call != call || now - earlier->last > timeout)
        earlier = RestartedCall{call, now, now};
    earlier->last = now;
    if (now - earlier->first < timeout) return false;
    earlier.reset();
    return true;
}

// Whether a thread that this stop has woken would sleep on in its system call if it were not
// traced. So it is for a stop of ours, and for an ignored signal, which the kernel drops for
// untraced threads (signal(7)); not for signals that stop the process.
bool wakes_unseen(const WaitStatus& status) {
    constexpr int stopping[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};
    if (status.kind() == WaitStatus::Kind::interrupt_stop) return true;
    return status.kind() == WaitStatus::Kind::signal_stop &&
           std::find(std::begin(stopping), std::end(stopping), status.signal()) ==
               std::end(stopping);
}

bool returns_eintr_at_stop(std::uint64_t number) {
    return std::find(interrupted.begin(), interrupted.end(), number) != interrupted.end();
}

}  // namespace

std::optional<SleepingCall> SleepingCall::parse(std::string_view text) {
    SleepingCall call;
    const char* const end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, call.number);
    if (error != std::errc{}) return std::nullopt;  // "running", "-1 ..."
    for (std::uint64_t& argument : call.arguments) {
        constexpr std::string_view prefix = " 0x";
        if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(prefix))
            return std::nullopt;
        const auto parsed = std::from_chars(at + prefix.size(), end, argument, 16);
        if (parsed.ec != std::errc{}) return std::nullopt;
        at = parsed.ptr;
    }
    return call;
}

bool SleepingCall::is_futex_wait() const {
    const auto operation = arguments[1] & futex_command_mask;
    return number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

std::optional<SleepingCall> read_sleeping_call(pid_t pid, pid_t tid) {
    const std::string path = fmt::format("/proc/{}/task/{}/syscall", pid, tid);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return std::nullopt;
    std::array<char, 256> text;
    const ssize_t count = ::read(fd.get(), text.data(), text.size());
    if (count <= 0) return std::nullopt;
    return SleepingCall::parse({text.data(), static_cast<std::size_t>(count)});
}

bool SleepingCall::bears_child() const {
    return number == SYS_clone || number == SYS_clone3 || number == SYS_fork || number == SYS_vfork;
}

bool is_stop_visible(pid_t pid, const SleepingCall& call) {
    const auto* row = std::find_if(std::begin(invisible), std::end(invisible),
                                   [&](const auto& each) { return each.number == call.number; });
    if (row == std::end(invisible)) return true;
    return row->condition != always && !row->condition(pid, call.arguments);
}

Result<void> restart_interrupted_call(StoppedThread& thread,
                                      std::optional<RestartedCall>& earlier) {
    // ERESTARTNOHAND of the kernel's errno.h.
    constexpr auto restart_unless_handled = static_cast<unsigned long long>(-514);
    if (!wakes_unseen(thread.status())) return {};
    TRY_ASSIGN(user_regs_struct registers, thread.registers());
    if (registers.rax != static_cast<unsigned long long>(-EINTR)) return {};
    if (!returns_eintr_at_stop(registers.orig_rax)) return {};
    registers.rax = restart_unless_handled;
    const SleepingCall call{
        registers.orig_rax,
        {registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9}};
    if (const auto* row = find_timeout(call.number))
        if (const auto timeout = read_timeout(thread.tid(), *row, call))
            if (is_over(call, *timeout, earlier))
                registers.rax = static_cast<unsigned long long>(row->result);
    return thread.set_registers(registers);
}

}  // namespace shadowprof

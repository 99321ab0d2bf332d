#include "ptrace/process/sleep_state.h"

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

#include "base/files/fd.h"
#include "ptrace/thread/process_memory.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

using Arguments = std::array<std::uint64_t, 6>;
// FUTEX_CMD_MASK is a signed number.
constexpr auto futex_command_mask =
    static_cast<std::uint64_t>(static_cast<std::int64_t>(FUTEX_CMD_MASK));

// Reads from a socket with a time-out (SO_RCVTIMEO) return EINTR.
bool is_no_socket(pid_t pid, const Arguments& arguments) {
    std::array<char, 8> link;
    const auto path = fmt::format("/proc/{}/fd/{}", pid, static_cast<int>(arguments[0]));
    const ssize_t length = ::readlink(path.c_str(), link.data(), link.size());
    return length > 0 && !std::string_view(link.data(), link.size()).starts_with("socket:");
}

// FUTEX_WAIT_REQUEUE_PI returns EAGAIN.
bool is_plain_futex(const Arguments& arguments) {
    const auto operation = arguments[1] & futex_command_mask;
    return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
           operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
}

// Whether a thread that sleeps in a call notices a stop. For some calls this depends on arguments.
bool shows(StopUse::Shows shows, pid_t pid, const Arguments& arguments) {
    using enum StopUse::Shows;
    switch (shows) {
        case always:
            return true;
        case never:
            return false;
        case in_sockets:
            return !is_no_socket(pid, arguments);
        case in_other_futexes:
            return !is_plain_futex(arguments);
        case in_rest_1:
            return arguments[1] != 0;
        case in_rest_3:
            return (arguments[1] & TIMER_ABSTIME) == 0 && arguments[3] != 0;
        case in_timeout_2:
            return arguments[2] != 0;
        case in_timeout_4:
            return arguments[4] != 0;
    }
    return true;
}

// Returns nothing if there is no time-out, or if it cannot be read.
std::optional<std::chrono::nanoseconds> read_timeout(pid_t tid, const StopUse& stop,
                                                     const SleepingCall& call) {
    if (stop.timeout_unit == StopUse::Unit::none) return std::nullopt;
    const std::uint64_t argument = call.arguments[stop.timeout];
    if (stop.timeout_unit == StopUse::Unit::milliseconds) {
        const auto milliseconds = static_cast<std::int32_t>(argument);
        if (milliseconds < 0) return std::nullopt;
        return std::chrono::milliseconds(milliseconds);
    }
    ProcessMemory memory(tid);
    const auto time = read_value<timespec>(memory, {argument});
    // Up to 30 years, which do not overflow.
    if (!time || time->tv_sec < 0 || time->tv_sec > 1'000'000'000) return std::nullopt;
    return std::chrono::seconds(time->tv_sec) + std::chrono::nanoseconds(time->tv_nsec);
}

// Whether the time-out has passed since the call's first restart. If more than the time-out has
// passed since the last interruption, this is a new call.
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

// Whether an untraced thread would sleep on in its system call at this event. That holds for stops
// that we cause and for ignored signals, which the kernel drops for untraced threads (signal(7)).
// It does not hold for signals that stop the process.
bool wakes_unseen(const WaitStatus& status) {
    constexpr int stopping[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};
    if (status.kind() == WaitStatus::Kind::interrupt_stop) return true;
    return status.kind() == WaitStatus::Kind::signal_stop &&
           std::find(std::begin(stopping), std::end(stopping), status.signal()) ==
               std::end(stopping);
}

UniqueFd open_call_file(pid_t pid, pid_t tid) {
    const auto path = fmt::format("/proc/{}/task/{}/syscall", pid, tid);
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

std::optional<SleepingThread> SleepingThread::parse(std::string_view text) {
    SleepingThread thread;
    const char* const end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, thread.call.number);
    if (error != std::errc{}) return std::nullopt;  // "running", "-1 ..."
    auto read = [&, at = at](std::uint64_t& number) mutable {
        constexpr std::string_view prefix = " 0x";
        if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(prefix))
            return false;
        const auto parsed = std::from_chars(at + prefix.size(), end, number, 16);
        at = parsed.ptr;
        return parsed.ec == std::errc{};
    };
    for (std::uint64_t& argument : thread.call.arguments)
        if (!read(argument)) return std::nullopt;
    if (!read(thread.stack_pointer.value) || !read(thread.program_counter.value))
        return std::nullopt;
    return thread;
}

bool SleepingCall::is_futex_wait() const {
    const auto operation = arguments[1] & futex_command_mask;
    return number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

std::optional<SleepingCall> read_sleeping_call(pid_t pid, pid_t tid) {
    const auto thread = ActivityFile(pid, tid).sleep();
    return thread ? std::optional(thread->call) : std::nullopt;
}

ActivityFile::ActivityFile(pid_t pid, pid_t tid) : fd_(open_call_file(pid, tid)) {}

bool ActivityFile::is_active() const {
    constexpr std::string_view active = "running";
    std::array<char, active.size()> text;
    const ssize_t count = ::pread(fd_.get(), text.data(), text.size(), 0);
    return count > 0 && std::string_view(text.data(), static_cast<std::size_t>(count)) == active;
}

std::optional<SleepingThread> ActivityFile::sleep() const {
    if (!fd_) return std::nullopt;
    std::array<char, 256> text;
    const ssize_t count = ::pread(fd_.get(), text.data(), text.size(), 0);
    if (count <= 0) return std::nullopt;
    return SleepingThread::parse({text.data(), static_cast<std::size_t>(count)});
}

bool SleepingCall::bears_child() const {
    return number == SYS_clone || number == SYS_clone3 || number == SYS_fork || number == SYS_vfork;
}

bool is_stop_visible(pid_t pid, const SleepingCall& call) {
    const auto* facts = find_syscall_facts(call.number);
    return !facts || shows(facts->stop.shows, pid, call.arguments);
}

Result<void> restart_interrupted_call(StoppedThread& thread,
                                      std::optional<RestartedCall>& earlier) {
    // ERESTARTNOHAND of the kernel's errno.h.
    constexpr auto restart_unless_handled = static_cast<unsigned long long>(-514);
    if (!wakes_unseen(thread.status())) return {};
    TRY_ASSIGN(user_regs_struct registers, thread.registers());
    if (registers.rax != static_cast<unsigned long long>(-EINTR)) return {};
    const auto* facts = find_syscall_facts(registers.orig_rax);
    if (!facts || !facts->stop.returns_eintr) return {};
    registers.rax = restart_unless_handled;
    const SleepingCall call{
        registers.orig_rax,
        {registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9}};
    const auto timeout = read_timeout(thread.tid(), facts->stop, call);
    if (timeout && is_over(call, *timeout, earlier))
        registers.rax = static_cast<unsigned long long>(facts->stop.timeout_result);
    return thread.set_registers(registers);
}

}  // namespace shadowprof

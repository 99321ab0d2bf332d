#include "ptrace/sleep_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/fd.h"

namespace shadowprof {
namespace {

// The socket calls return EINTR if the socket has a time-out (SO_RCVTIMEO, SO_SNDTIMEO).
constexpr std::array<std::uint64_t, 19> visible = {
    SYS_epoll_wait, SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_epoll_wait_old, SYS_semop,
    SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents, SYS_io_pgetevents,  SYS_io_uring_enter,
    SYS_accept,     SYS_accept4,         SYS_connect,      SYS_recvfrom,       SYS_recvmsg,
    SYS_recvmmsg,   SYS_sendto,          SYS_sendmsg,      SYS_sendmmsg,
};

}  // namespace

bool stop_is_visible_to(std::uint64_t syscall_number) {
    return std::find(visible.begin(), visible.end(), syscall_number) != visible.end();
}

bool sleeps_undisturbed(std::string_view syscall_text) {
    std::uint64_t number = 0;  // "running" and "-1 ..." do not parse
    const auto [end, error] =
        std::from_chars(syscall_text.data(), syscall_text.data() + syscall_text.size(), number);
    return error == std::errc{} && stop_is_visible_to(number);
}

bool sleeps_undisturbed(pid_t pid, pid_t tid) {
    const std::string path = fmt::format("/proc/{}/task/{}/syscall", pid, tid);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return false;
    std::array<char, 256> text;
    const ssize_t count = ::read(fd.get(), text.data(), text.size());
    return count > 0 && sleeps_undisturbed({text.data(), static_cast<std::size_t>(count)});
}

Result<void> restart_interrupted_call(StoppedThread& thread) {
    // ERESTARTNOHAND of the kernel's errno.h.
    constexpr auto restart_unless_handled = static_cast<unsigned long long>(-514);
    TRY_ASSIGN(user_regs_struct registers, thread.registers());
    if (registers.rax != static_cast<unsigned long long>(-EINTR)) return {};
    if (!stop_is_visible_to(registers.orig_rax)) return {};
    registers.rax = restart_unless_handled;
    return thread.set_registers(registers);
}

}  // namespace shadowprof

#include "ptrace/thread/wait_status.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>

namespace shadowprof {
namespace {

constexpr int syscall_stop_signal = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

}  // namespace

WaitStatus WaitStatus::decode(int raw) {
    if (WIFEXITED(raw)) return {Kind::exited, WEXITSTATUS(raw)};
    if (WIFSIGNALED(raw)) return {Kind::killed, WTERMSIG(raw)};
    if (!WIFSTOPPED(raw)) return {Kind::other, raw};

    const int signal = WSTOPSIG(raw);
    const int event = static_cast<int>(static_cast<unsigned>(raw) >> 16);
    if (event == PTRACE_EVENT_STOP)
        return {signal == SIGTRAP ? Kind::interrupt_stop : Kind::group_stop, signal};
    if (event != 0) return {Kind::event_stop, event};
    if (signal == syscall_stop_signal) return {Kind::syscall_stop, 0};
    return {Kind::signal_stop, signal};
}

std::string WaitStatus::describe() const {
    switch (kind_) {
        case Kind::exited:
            return fmt::format("exited with status {}", value_);
        case Kind::killed:
            return fmt::format("killed by signal {}", value_);
        case Kind::signal_stop:
            return fmt::format("stopped at the delivery of signal {}", value_);
        case Kind::group_stop:
            return fmt::format("stopped with its process by signal {}", value_);
        case Kind::interrupt_stop:
            return "stopped by its tracer";
        case Kind::syscall_stop:
            return "stopped at a system call";
        case Kind::event_stop:
            return fmt::format("stopped at ptrace event {}", value_);
        case Kind::other:
            break;
    }
    return fmt::format("wait status {:#x}", value_);
}

}  // namespace shadowprof

#include "ptrace/thread/stopped_thread.h"

#include <elf.h>
#include <sys/uio.h>

#include <array>

#include "ptrace/thread/ptrace_call.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof {
namespace {

// PTRACE_SYSEMU_SINGLESTEP, whose name glibc declares only for other architectures.
constexpr auto step_without_syscalls = static_cast<PtraceRequest>(32);

constexpr PtraceRequest request_for(StoppedThread::Advance how) {
    switch (how) {
        case StoppedThread::Advance::to_syscall:
            return PTRACE_SYSCALL;
        case StoppedThread::Advance::one_instruction:
            return step_without_syscalls;
        case StoppedThread::Advance::run:
            break;
    }
    return PTRACE_CONT;
}

}  // namespace

Result<user_regs_struct> StoppedThread::registers() const {
    user_regs_struct registers;
    iovec vector{&registers, sizeof registers};
    TRY(ptrace_call(PTRACE_GETREGSET, tid_, NT_PRSTATUS, &vector, "read registers"));
    if (vector.iov_len != sizeof registers)
        return Error{ErrorCode::unsupported, 0, fmt::format("thread {} runs 32-bit code", tid_)};
    return registers;
}

Result<void> StoppedThread::set_registers(const user_regs_struct& registers) {
    TRY(ptrace_call(PTRACE_SETREGS, tid_, 0, &registers, "write registers"));
    return {};
}

Result<std::span<std::byte>> StoppedThread::extended_state(std::span<std::byte> buffer) const {
    iovec vector{buffer.data(), buffer.size()};
    TRY(ptrace_call(PTRACE_GETREGSET, tid_, NT_X86_XSTATE, &vector, "read extended registers"));
    return buffer.first(vector.iov_len);
}

Result<void> StoppedThread::set_extended_state(std::span<const std::byte> regset) {
    iovec vector{const_cast<std::byte*>(regset.data()), regset.size()};
    TRY(ptrace_call(PTRACE_SETREGSET, tid_, NT_X86_XSTATE, &vector, "write extended registers"));
    return {};
}

Result<ThreadSnapshot> StoppedThread::snapshot() const {
    TRY_ASSIGN(const auto general, registers());
    alignas(64) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto extended, extended_state(buffer));
    ThreadSnapshot result;
    result.tid = tid_;
    result.blocked_syscall = blocked_syscall(general);
    load_general(result.cpu, general);
    TRY(load_extended(result.cpu, extended));
    return result;
}

Result<void> StoppedThread::set_cpu_state(const CpuState& cpu) {
    TRY_ASSIGN(auto general, registers());
    alignas(64) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto extended, extended_state(buffer));
    store_general(cpu, general);
    general.orig_rax = no_syscall;
    TRY(store_extended(cpu, extended));
    TRY(set_extended_state(extended));
    return set_registers(general);
}

Result<std::uint64_t> StoppedThread::signal_mask() const {
    std::uint64_t mask = 0;
    TRY(ptrace_call(PTRACE_GETSIGMASK, tid_, sizeof mask, &mask, "read the signal mask"));
    return mask;
}

Result<void> StoppedThread::set_signal_mask(std::uint64_t mask) {
    TRY(ptrace_call(PTRACE_SETSIGMASK, tid_, sizeof mask, &mask, "write the signal mask"));
    return {};
}

Result<bool> StoppedThread::has_queued_signal() const {
    for (const std::uint32_t flags : {0u, std::uint32_t{PTRACE_PEEKSIGINFO_SHARED}}) {
        const __ptrace_peeksiginfo_args first{.off = 0, .flags = flags, .nr = 1};
        siginfo_t info;
        TRY_ASSIGN(const long count,
                   ptrace_call(PTRACE_PEEKSIGINFO, tid_, reinterpret_cast<std::uint64_t>(&first),
                               &info, "look for signals"));
        if (count > 0) return true;
    }
    return false;
}

Result<siginfo_t> StoppedThread::signal_info() const {
    siginfo_t info{};
    TRY(ptrace_call(PTRACE_GETSIGINFO, tid_, 0, &info, "read signal information"));
    return info;
}

Result<void> StoppedThread::set_signal_info(const siginfo_t& info) {
    TRY(ptrace_call(PTRACE_SETSIGINFO, tid_, 0, &info, "write signal information"));
    return {};
}

Result<std::uint64_t> StoppedThread::event_message() const {
    unsigned long message = 0;
    TRY(ptrace_call(PTRACE_GETEVENTMSG, tid_, 0, &message, "read a ptrace event"));
    return std::uint64_t{message};
}

Result<WaitStatus> StoppedThread::advance(Advance how, int signal) {
    TRY(set_off(how, signal));
    return await_stop();
}

Result<WaitStatus> StoppedThread::await_stop() {
    TRY_ASSIGN(const WaitStatus status, hub_->wait_for(tid_));
    TRY(take(status));
    return status;
}

Result<void> StoppedThread::take(const WaitStatus& status) {
    if (status.is_end()) {
        hub_->put_back({tid_, status});
        return Error{ErrorCode::gone, ESRCH, fmt::format("thread {} {}", tid_, status.describe())};
    }
    status_ = status;
    return {};
}

Result<void> StoppedThread::set_off(Advance how, int signal) {
    TRY(ptrace_call(request_for(how), tid_, 0, static_cast<std::uint64_t>(signal), "resume"));
    return {};
}

Result<bool> StoppedThread::has_stopped(std::chrono::nanoseconds wait) {
    TRY_ASSIGN(const auto status, hub_->wait_for(tid_, wait));
    if (!status) return false;
    TRY(take(*status));
    return true;
}

Result<void> StoppedThread::halt() {
    TRY(ptrace_call(PTRACE_INTERRUPT, tid_, 0, std::uint64_t{0}, "interrupt"));
    TRY_ASSIGN(const WaitStatus status, hub_->wait_for(tid_));
    return take(status);
}

Result<void> StoppedThread::settle(OwnSignal own) {
    while (!status_.is_trap()) {
        TRY(ptrace_call(PTRACE_INTERRUPT, tid_, 0, std::uint64_t{0}, "interrupt"));
        const bool in_signal = status_.kind() == WaitStatus::Kind::signal_stop;
        const bool delivered = in_signal && own == OwnSignal::delivered;
        TRY(advance(Advance::run, delivered ? status_.signal() : 0));
        own = OwnSignal::delivered;
    }
    return {};
}

Result<void> StoppedThread::resume(int signal, Advance how) {
    const bool group_stop = status_.kind() == WaitStatus::Kind::group_stop;
    TRY(ptrace_call(group_stop ? PTRACE_LISTEN : request_for(how), tid_, 0,
                    static_cast<std::uint64_t>(group_stop ? 0 : signal), "resume"));
    return {};
}

Result<void> StoppedThread::detach(int signal) {
    TRY(ptrace_call(PTRACE_DETACH, tid_, 0, static_cast<std::uint64_t>(signal), "detach"));
    return {};
}

}  // namespace shadowprof

#include "shadow/exact/process/trap_disposition.h"

#include <sys/syscall.h>

#include <array>
#include <csignal>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/remote/remote_syscall.h"
#include "shadow/exact/process/borrowed_memory.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t trap_bit = std::uint64_t{1} << (SIGTRAP - 1);

// The kernel's own form (struct sigaction of its rt_sigaction).
struct KernelAction {
    std::uint64_t handler, flags, restorer, mask;
};

// Restores the handler alone, as a forced signal changes nothing else of the disposition in the
// kernel.
Result<void> ignore_again(RemoteSyscall& session, const BorrowedMemory<KernelAction>& memory) {
    const auto call = [&](std::uint64_t action, std::uint64_t old) -> Result<void> {
        TRY_ASSIGN(const auto result,
                   session.call(SYS_rt_sigaction, {SIGTRAP, action, old, sizeof(std::uint64_t)}));
        if (result == 0) return {};
        return errno_error("ignore SIGTRAP again", static_cast<int>(-result));
    };
    TRY(call(0, memory.address()));
    TRY_ASSIGN(auto action, memory.get());
    action.handler = reinterpret_cast<std::uint64_t>(SIG_IGN);
    TRY(memory.put(action));
    return call(memory.address(), 0);
}

}  // namespace

Result<void> TrapDisposition::open() {
    if (!ignored_) {
        TRY_ASSIGN(const auto status, read_proc_status(thread_.tid()));
        ignored_ = (status.ignored_signals & trap_bit) != 0;
    }
    TRY_ASSIGN(const auto mask, thread_.signal_mask());
    if (!(mask & trap_bit)) return {};
    TRY(thread_.set_signal_mask(mask & ~trap_bit));
    is_unblocked_ = true;
    return {};
}

Result<void> TrapDisposition::close() {
    if (!std::exchange(is_unblocked_, false)) return {};
    TRY_ASSIGN(const auto mask, thread_.signal_mask());
    return thread_.set_signal_mask(mask | trap_bit);
}

Result<void> TrapDisposition::repair() {
    if (!ignored_ || !*ignored_) return {};
    TRY(thread_.settle(StoppedThread::OwnSignal::dropped));
    TRY_ASSIGN(const auto registers, thread_.registers());
    const GuestAddress at{registers.rsp & ~std::uint64_t{7}};
    TRY_ASSIGN(const auto memory, BorrowedMemory<KernelAction>::of(thread_.tid(), at));
    TRY_ASSIGN(auto session, target_.borrow(thread_));
    TRY(ignore_again(session, memory));
    return session.finish();
}

}  // namespace shadowprof

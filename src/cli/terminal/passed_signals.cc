#include "cli/terminal/passed_signals.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "cli/terminal/signal_action.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// How long hand_on() waits for the tracer to get the same signal, in case it was sent to the whole
// group, and how often it looks. On a busy machine the tracer may have dequeued the signal but not
// reached its handler: the signal is then neither pending nor counted.
constexpr int longest_group_wait_ms = 100, group_observation_ms = 5;

// Equals PassedSignals::counted_. Handlers can only use globals.
std::array<std::atomic<std::uint32_t>, 65>* counts_of_handler = nullptr;

bool is_pending(int signal, pid_t pid) {
    const auto status = read_proc_status(pid);
    return status && (status->pending_signals >> (signal - 1) & 1) != 0;
}

}  // namespace

void PassedSignals::Unmap::operator()(Counts* counts) const {
    ::munmap(counts, sizeof *counts);
}

Result<PassedSignals> PassedSignals::take() {
    void* const memory =
        ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno_error("mmap");
    std::unique_ptr<Counts, Unmap> counts(new (memory) Counts());
    TRY_ASSIGN(auto signals, EndSignals::take());
    return PassedSignals(std::move(signals), std::move(counts));
}

void PassedSignals::leave_to_other() {
    // Never freed: signals may come until this process ends.
    counts_of_handler = counted_.release();
    for (const int signal : EndSignals::signals)
        handle_unless_ignored(
            signal, [](int number) { ++(*counts_of_handler)[static_cast<std::size_t>(number)]; });
    signals_.leave_to_other();
}

int PassedSignals::hand_on(pid_t tracer) {
    signalfd_siginfo seen;
    if (::read(signals_.fd(), &seen, sizeof seen) != sizeof seen) return 0;
    const auto signal = static_cast<int>(seen.ssi_signo);
    for (int waited_ms = 0; waited_ms < longest_group_wait_ms; waited_ms += group_observation_ms) {
        ::poll(nullptr, 0, group_observation_ms);
        if (is_for_group(signal, tracer)) return 0;
    }
    send(signal);
    return ++passed_on_ > 1 ? signal : 0;
}

bool PassedSignals::is_for_group(int signal, pid_t tracer) {
    const auto at = static_cast<std::size_t>(signal);
    const std::uint32_t before = (*counted_)[at];
    const bool pending = is_pending(signal, tracer);
    const std::uint32_t after = (*counted_)[at];
    // If the handler ran in between, the pending signal may be the one that it counted.
    const std::uint32_t got = after + (pending && after == before ? 1 : 0);
    if (got == taken_for_group_[at]) return false;
    taken_for_group_[at] = got;
    return true;
}

void PassedSignals::set_program(pid_t pid) {
    program_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (waiting_signal_ != 0) send(std::exchange(waiting_signal_, 0));
}

void PassedSignals::send(int signal) {
    if (!program_)
        waiting_signal_ = signal;
    else
        static_cast<void>(::syscall(SYS_pidfd_send_signal, program_.get(), signal, nullptr, 0));
}

}  // namespace shadowprof

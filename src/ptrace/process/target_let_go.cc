// Target::let_go: a target that runs without us for a while, or dies without us.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "ptrace/process/target.h"
#include "ptrace/thread/process_memory.h"

namespace shadowprof {
namespace {

// Signals of an instruction or a system call that the kernel refuses.
constexpr bool is_of_fault(int signal) {
    switch (signal) {
        case SIGSEGV:
        case SIGBUS:
        case SIGILL:
        case SIGFPE:
        case SIGTRAP:
        case SIGSYS:
            return true;
        default:
            return false;
    }
}

// How many bytes before the program counter the instruction begins that has raised the signal. Most
// faults leave the program counter where it is.
std::uint64_t passed_bytes(pid_t tid, const siginfo_t& info, std::uint64_t rip) {
    constexpr std::byte int3{0xcc};
    constexpr std::uint64_t int3_bytes = 1, two_bytes = 2;  // INT 3 by its number, or SYSCALL
    if (info.si_signo == SIGSYS) return two_bytes;
    if (info.si_signo != SIGTRAP || info.si_code != SI_KERNEL) return 0;
    std::byte last{};
    if (!ProcessMemory(tid).read({rip - int3_bytes}, {&last, 1})) return 0;
    return last == int3 ? int3_bytes : two_bytes;
}

bool same(const std::vector<AuxiliaryEntry>& a, const std::vector<AuxiliaryEntry>& b) {
    return std::ranges::equal(a, b, [](const AuxiliaryEntry& x, const AuxiliaryEntry& y) {
        return x.type == y.type && x.value == y.value;
    });
}

}  // namespace

Result<void> Target::let_go() {
    if (end_ || detached_) return {};
    LetGo left;
    // Among the entries are addresses that are random for each execution of a program.
    if (auto program = read_auxiliary_vector(live_thread_id())) left.program = std::move(*program);
    for (const auto& [tid, thread] : threads_) left.began[tid] = thread.began;
    watch_for_end();
    let_go_ = std::move(left);
    auto detached = detach(Sleepers::stop_unseen);
    if (!detached || end_) let_go_.reset();
    return detached;
}

Result<void> Target::seize_again() {
    look_for_end();
    if (end_) return Error{ErrorCode::gone, ESRCH, fmt::format("process {} has ended", pid_)};
    leader_seized_ = true;
    detached_ = false;
    if (auto seized = seize_all(); !seized) {
        static_cast<void>(detach(Sleepers::stop_unseen));
        detached_ = true;
        return seized;
    }
    note_unseized_life(*std::exchange(let_go_, std::nullopt));
    return {};
}

// Notes what has become of the threads and the program while the target was let go.
void Target::note_unseized_life(LetGo left) {
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [tid, began] : left.began) {
        const auto thread = threads_.find(tid);
        if (thread != threads_.end())
            thread->second.began = began;
        else
            ended_threads_.add({tid, began, now});
    }
    const auto program = read_auxiliary_vector(live_thread_id());
    if (program && same(*program, left.program)) return;
    ++exec_count_;
    executed_command_ = read_command(pid_).value_or(std::vector<std::string>{});
    shares_memory_ = false;
    injected_.clear();
    note_program();
}

// A child of ours is told of by a status.
void Target::watch_for_end() {
    if (!is_own_child_ && !end_watch_)
        end_watch_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

void Target::look_for_end() {
    if (end_ || is_own_child_ || (!let_go_ && !dies_of_)) return;
    pollfd watched{end_watch_.get(), POLLIN, 0};
    // Kernels before 5.3 have no pidfd_open(2).
    const bool has_ended =
        end_watch_ ? ::poll(&watched, 1, 0) > 0 : has_thread_ended(pid_, live_thread_id());
    if (has_ended)
        note_unseen_end(dies_of_ ? WaitStatus::decode(*dies_of_) : WaitStatus::unknown());
}

// Notes the end of a target that is not traced.
void Target::note_unseen_end(const WaitStatus& status) {
    end_ = status;
    note_ends_of_all_but(0);
    const auto left = std::exchange(let_go_, std::nullopt);
    if (left)
        for (const auto& [tid, began] : left->began)
            ended_threads_.add({tid, began, std::chrono::steady_clock::now()});
    threads_.clear();
    late_.clear();
}

bool Target::is_namespace_init() {
    if (!is_namespace_init_) is_namespace_init_ = read_namespace_pid(pid_).value_or(0) == 1;
    return *is_namespace_init_;
}

// The kernel protects the first process of a PID namespace from signals that would end it. For a
// fault it lifts that protection, but not if the thread is traced: the signal is then dropped, and
// the instruction faults for ever.
bool Target::would_survive(const StoppedThread& thread, int signal) {
    if (!is_of_fault(signal) || !is_namespace_init()) return false;
    const auto info = thread.signal_info();
    if (!info || info->si_code <= 0) return false;  // another process has sent it
    const auto status = read_proc_status(thread.tid());
    return status && (status->caught_signals >> (signal - 1) & 1) == 0;
}

Result<void> Target::rewind_fault(StoppedThread& thread) {
    TRY_ASSIGN(const auto info, thread.signal_info());
    TRY_ASSIGN(auto registers, thread.registers());
    registers.rip -= passed_bytes(thread.tid(), info, registers.rip);
    return thread.set_registers(registers);
}

// The instruction is executed once more, untraced, and the kernel ends the process.
void Target::let_die(StoppedThread& thread, int signal) {
    end_all_forked();
    watch_for_end();
    dies_of_ = signal;
    static_cast<void>(rewind_fault(thread));
    threads_[thread.tid()].dead = true;
    static_cast<void>(thread.detach());
}

}  // namespace shadowprof

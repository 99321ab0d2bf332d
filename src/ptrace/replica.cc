#include "ptrace/replica.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "ptrace/process_memory.h"
#include "ptrace/ptrace_call.h"

namespace shadowprof {
namespace {

// Page 0 is never mapped: a replica that got loose dies at its first use of the stack, and since it
// has all signals blocked, without running a handler.
constexpr std::uint64_t no_stack = 8;

// CLONE_PTRACE: attached before its first instruction. CLONE_FILES: the replica is no second holder
// of pipes and sockets, whose other ends would otherwise miss a close. No exit signal: the parent
// is not told, and only waits for "all" children see it. CLONE_PARENT: the parent is ours.
std::uint64_t fork_flags(bool is_own_child) {
    return CLONE_PTRACE | CLONE_FILES |
           (is_own_child ? static_cast<std::uint64_t>(CLONE_PARENT) : 0);
}

Error fork_error(std::int64_t result) {
    const int error_number = static_cast<int>(-result);
    Error error = errno_error("fork a replica of the target", error_number);
    if (error_number == EAGAIN)
        error.message +=
            " (a limit on the number of processes: ulimit -u, or pids.max of its cgroup)";
    if (error_number == EPERM || error_number == ENOSYS) {
        error.code = ErrorCode::unsupported;
        error.message += " (forbidden, probably by a seccomp filter)";
    }
    return error;
}

}  // namespace

Replica::Process::~Process() {
    ::kill(pid, SIGKILL);
    hub->discard(pid);
    if (dead_replicas) dead_replicas->push_back(namespace_pid);
}

Replica::~Replica() = default;

Result<Replica> Replica::fork(ScopedStop& stop, std::span<const MemoryRange> unforked) {
    Target& target = stop.target();
    TRY_ASSIGN(const GuestAddress instruction, target.syscall_instruction());
    Error last{ErrorCode::unsupported, 0, "no thread of the target stands still"};
    for (StoppedThread& thread : stop.threads()) {
        auto session = RemoteSyscall::begin(thread, instruction);
        if (!session) {
            last = std::move(session).error();
            continue;
        }
        auto replica = [&] {
            const ForkedRanges all(*session, unforked);
            return fork_through(*session, target.hub(),
                                target.is_own_child() ? nullptr : target.dead_replicas());
        }();
        if (replica) TRY(reap_dead_replicas(*session, *target.dead_replicas()));
        TRY(session->finish());
        return replica;
    }
    return last;
}

Result<Replica> Replica::copy(GuestAddress instruction) {
    TRY(thread_.settle(StoppedThread::OwnSignal::dropped));
    TRY_ASSIGN(auto session, RemoteSyscall::begin(thread_, instruction));
    auto replica = fork_through(session, *process_->hub, nullptr);
    TRY(session.finish());
    return replica;
}

Result<Replica> Replica::fork_through(RemoteSyscall& session, WaitHub& hub,
                                      std::shared_ptr<std::vector<pid_t>> dead_replicas) {
    TRY_ASSIGN(const auto clone, session.clone(fork_flags(!dead_replicas), no_stack));
    if (clone.child == 0) return fork_error(clone.result);
    auto process = std::make_unique<Process>();
    process->hub = &hub;
    process->pid = clone.child;
    process->namespace_pid = static_cast<pid_t>(clone.result);
    process->dead_replicas = std::move(dead_replicas);

    TRY_ASSIGN(const WaitStatus status, hub.wait_for(clone.child));
    if (!status.is_trap()) {
        if (status.is_end()) hub.put_back({clone.child, status});
        return Error{ErrorCode::gone, ESRCH, fmt::format("the replica {}", status.describe())};
    }
    TRY(ptrace_call(PTRACE_SETOPTIONS, clone.child, 0,
                    std::uint64_t{PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD},
                    "set the options of a replica"));
    TRY_ASSIGN(UniqueFd memory, open_process_memory(clone.child, O_RDONLY));
    const StoppedThread thread(hub, clone.child, status);
    return Replica(std::move(process), std::move(memory), thread);
}

Result<void> Replica::write(GuestAddress to, std::span<const std::byte> bytes) {
    if (!writable_memory_) {
        TRY_ASSIGN(writable_memory_, open_process_memory(pid(), O_RDWR));
    }
    while (!bytes.empty()) {
        const ssize_t done = ::pwrite(writable_memory_.get(), bytes.data(), bytes.size(),
                                      static_cast<off_t>(to.value));
        if (done < 0) return errno_error("write into a replica");
        if (done == 0) return errno_error("write into a replica", ESRCH);
        to = to + static_cast<std::uint64_t>(done);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return {};
}

Result<StepResult> Replica::single_step(CpuState& cpu) {
    TRY(thread_.set_cpu_state(cpu));
    TRY_ASSIGN(const WaitStatus status, thread_.advance(StoppedThread::Advance::one_instruction));
    TRY_ASSIGN(const ThreadSnapshot after, thread_.snapshot());
    cpu = after.cpu;
    if (status.kind() == WaitStatus::Kind::syscall_stop) return StepResult{StepEnd::syscall, 0};
    if (status.kind() != WaitStatus::Kind::signal_stop)
        return Error{ErrorCode::gone, ESRCH, fmt::format("the replica {}", status.describe())};
    TRY_ASSIGN(const siginfo_t info, thread_.signal_info());
    const bool stepped = status.signal() == SIGTRAP && info.si_code == TRAP_TRACE;
    return stepped ? StepResult{} : StepResult{StepEnd::fault, status.signal()};
}

Result<void> reap_dead_replicas(RemoteSyscall& session, std::vector<pid_t>& dead_replicas) {
    std::vector<pid_t> remaining;
    for (const pid_t pid : dead_replicas) {
        TRY_ASSIGN(const std::int64_t result,
                   session.call(SYS_wait4, {static_cast<std::uint64_t>(pid), 0, WNOHANG | __WALL}));
        if (result == 0) remaining.push_back(pid);
    }
    dead_replicas = std::move(remaining);
    return {};
}

}  // namespace shadowprof

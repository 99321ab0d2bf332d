#include "ptrace/replica.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "ptrace/ptrace_call.h"

namespace shadowprof {
namespace {

// Page 0 is never mapped: a replica that got loose dies at its first use of the stack, and since it
// has all signals blocked, without running a handler.
constexpr std::uint64_t no_stack = 8;

constexpr std::uint64_t replica_options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
// Of one that is to bear another.
constexpr std::uint64_t bearing_options = replica_options | PTRACE_O_TRACECLONE;

Result<void> set_replica_options(pid_t pid, std::uint64_t options) {
    TRY(ptrace_call(PTRACE_SETOPTIONS, pid, 0, options, "set the options of a replica"));
    return {};
}

// CLONE_PTRACE: attached before its first instruction. CLONE_FILES: the replica is no second holder
// of pipes and sockets, whose other ends would otherwise miss a close. No exit signal: the parent
// is not told, and only waits for "all" children see it. CLONE_PARENT: the parent is ours.
std::uint64_t fork_flags(bool is_own_child) {
    return CLONE_PTRACE | CLONE_FILES |
           (is_own_child ? static_cast<std::uint64_t>(CLONE_PARENT) : 0);
}

// While it lives, we inherit the children of those of our descendants that end.
class Inheritance {
  public:
    Inheritance() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
    ~Inheritance() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
    Inheritance(const Inheritance&) = delete;
    Inheritance& operator=(const Inheritance&) = delete;
};

bool shares_pid_namespace(pid_t pid) {
    struct stat own, other;
    return ::stat("/proc/self/ns/pid", &own) == 0 &&
           ::stat(fmt::format("/proc/{}/ns/pid", pid).c_str(), &other) == 0 &&
           own.st_ino == other.st_ino;
}

// Its children's children can become ours. Only what a program of ours has started is asked for.
bool can_inherit_from(const Target& target) {
    if (!target.is_born() || target.is_own_child()) return false;
    for (pid_t ancestor = target.pid(); ancestor > 1;) {
        const auto stat = read_proc_stat(ancestor);
        if (!stat) return false;
        if (stat->parent_pid == ::getpid()) return shares_pid_namespace(target.pid());
        ancestor = stat->parent_pid;
    }
    return false;
}

Error fork_error(std::int64_t result) {
    const int error_number = static_cast<int>(-result);
    Error error = errno_error("fork a replica of the target", error_number);
    if (error_number == EAGAIN)
        error.message +=
            " (a limit on the number of processes: ulimit -u, or pids.max of its cgroup)";
    if (error_number == EPERM || error_number == ENOSYS) {
        error.code = ErrorCode::permission;
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

Result<Replica> Replica::fork(ScopedStop& stop, std::span<const UnforkedRange> unforked) {
    Target& target = stop.target();
    TRY_ASSIGN(const GuestAddress instruction, target.syscall_instruction());
    std::optional<Error> refusal;
    for (StoppedThread& thread : stop.threads()) {
        auto session =
            RemoteSyscall::begin(thread, instruction, target_ptrace_options(target.forks()));
        if (!session) {
            // What passes counts for more than what does not.
            if (!refusal || refusal->code == ErrorCode::permission)
                refusal = std::move(session).error();
            continue;
        }
        auto child = [&]() -> Result<std::unique_ptr<Process>> {
            const ForkedRanges all(*session, unforked);
            return fork_through(*session, target.hub(),
                                target.is_own_child() ? nullptr : target.dead_replicas());
        }();
        std::optional<Result<Replica>> heir;
        if (child && can_inherit_from(target))
            heir.emplace(hand_over(take_over(std::move(*child)), instruction));
        if (child) TRY(reap_dead_replicas(*session, *target.dead_replicas()));
        // The thread is borrowed for as short as possible: a kill of this process while it is would
        // leave it with registers of ours.
        TRY(session->finish());
        if (heir) return *std::move(heir);
        if (!child) return std::move(child).error();
        return take_over(*std::move(child));
    }
    if (refusal) return *std::move(refusal);
    return Error{ErrorCode::unsupported, 0, "no thread of the target stands still"};
}

Result<Replica> Replica::copy(GuestAddress instruction) {
    TRY(thread_.settle(StoppedThread::OwnSignal::dropped));
    TRY_ASSIGN(auto session, RemoteSyscall::begin(thread_, instruction));
    auto child = fork_through(session, *process_->hub, nullptr);
    TRY(session.finish());
    if (!child) return std::move(child).error();
    return take_over(*std::move(child));
}

Result<std::unique_ptr<Replica::Process>> Replica::fork_through(
    RemoteSyscall& session, WaitHub& hub, std::shared_ptr<std::vector<pid_t>> dead_replicas) {
    TRY_ASSIGN(const auto clone, session.clone(fork_flags(!dead_replicas), no_stack));
    return process_of(clone, hub, std::move(dead_replicas));
}

Result<std::unique_ptr<Replica::Process>> Replica::process_of(
    const RemoteSyscall::Clone& clone, WaitHub& hub,
    std::shared_ptr<std::vector<pid_t>> dead_replicas) {
    if (clone.child == 0) return fork_error(clone.result);
    auto process = std::make_unique<Process>();
    process->hub = &hub;
    process->pid = clone.child;
    process->namespace_pid = static_cast<pid_t>(clone.result);
    process->dead_replicas = std::move(dead_replicas);
    return process;
}

// Waits for the new process's first stop.
Result<Replica> Replica::take_over(std::unique_ptr<Process> process) {
    WaitHub& hub = *process->hub;
    const pid_t pid = process->pid;
    TRY_ASSIGN(const WaitStatus status, hub.wait_for(pid));
    if (!status.is_trap()) {
        if (status.is_end()) hub.put_back({pid, status});
        return Error{ErrorCode::gone, ESRCH, fmt::format("the replica {}", status.describe())};
    }
    TRY(set_replica_options(pid, replica_options));
    TRY_ASSIGN(UniqueFd memory, open_process_memory(pid, O_RDONLY));
    const StoppedThread thread(hub, pid, status);
    return Replica(std::move(process), std::move(memory), thread);
}

// Into a child of ours with the same memory. A child of the target would outlive it, if it ends
// now, and be left to a process that knows nothing of it; and its waits with __WALL would see it.
// So the replica bears another that shares its memory, and dies: we inherit that.
Result<Replica> Replica::hand_over(Result<Replica> replica, GuestAddress instruction) {
    if (!replica) return replica;
    WaitHub& hub = *replica->process_->hub;
    TRY(set_replica_options(replica->pid(), bearing_options));
    TRY_ASSIGN(auto session, RemoteSyscall::begin(replica->thread_, instruction, bearing_options));
    TRY_ASSIGN(const auto clone, session.clone(CLONE_PTRACE | CLONE_FILES | CLONE_VM, no_stack));
    auto child = process_of(clone, hub, nullptr);
    auto heir = child ? take_over(*std::move(child)) : Result<Replica>(std::move(child).error());
    const Inheritance inheritance;
    ::kill(replica->pid(), SIGKILL);
    static_cast<void>(hub.reap(replica->pid()));
    return heir;
}

void Replica::offer_to_oom_killer() {
    shadowprof::offer_to_oom_killer(pid());
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

bool is_stray_replica(const StoppedThread& thread) {
    const auto registers = thread.registers();
    return registers && registers->rsp == no_stack;
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

#include "ptrace/replica/replica.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "ptrace/proc/proc.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/process_memory.h"

namespace shadowprof {

Replica::~Replica() = default;

Result<Replica> Replica::fork(ScopedStop& stop, std::span<const UnforkedRange> unforked) {
    Target& target = stop.target();
    TRY_ASSIGN(const GuestAddress instruction, target.syscall_instruction());
    TRY_ASSIGN(ForkServer * server, ForkServer::of(stop));
    auto forked = server->fork(instruction, unforked);
    if (forked || forked.error().code != ErrorCode::gone) return of(std::move(forked));
    // The server was killed from outside.
    target.end_companion();
    TRY_ASSIGN(server, ForkServer::of(stop));
    return of(server->fork(instruction, unforked));
}

Result<Replica> Replica::copy(GuestAddress instruction) {
    TRY(thread().settle(StoppedThread::OwnSignal::dropped));
    TRY_ASSIGN(auto session, RemoteSyscall::begin(thread(), instruction, owned_process_options));
    auto child = OwnedProcess::bear(session, process_.hub(), CLONE_FILES | CLONE_PARENT, nullptr);
    TRY(session.finish());
    if (child) TRY(child->take_over());
    return of(std::move(child));
}

Result<Replica> Replica::of(Result<OwnedProcess> process) {
    if (!process) return std::move(process).error();
    TRY_ASSIGN(UniqueFd memory, open_process_memory(process->pid(), O_RDONLY));
    return Replica(std::move(*process), std::move(memory));
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
        if (done < 0) return errno_error("write to a forked copy's memory");
        if (done == 0) return errno_error("write to a forked copy's memory", ESRCH);
        to = to + static_cast<std::uint64_t>(done);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return {};
}

Result<StepResult> Replica::single_step(CpuState& cpu) {
    TRY(thread().set_cpu_state(cpu));
    TRY_ASSIGN(const auto stop, step(thread()));
    const auto& status = stop.status;
    TRY_ASSIGN(const ThreadSnapshot after, thread().snapshot());
    cpu = after.cpu;
    if (status.kind() == WaitStatus::Kind::syscall_stop) return StepResult{StepEnd::syscall, 0};
    if (status.kind() != WaitStatus::Kind::signal_stop)
        return Error{ErrorCode::gone, ESRCH, fmt::format("the replica {}", status.describe())};
    return stop.is_there ? StepResult{} : StepResult{StepEnd::fault, status.signal()};
}

bool is_stray_replica(const StoppedThread& thread) {
    const auto registers = thread.registers();
    return registers && registers->rbx == unmapped_address && registers->rbp == unmapped_address &&
           registers->r15 == unmapped_address;
}

}  // namespace shadowprof

// A copy-on-write copy of the target at one moment. It never runs on its own: it stands still
// before its first instruction until it is killed, and dies with shadowprof.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cpu_state.h"
#include "base/fd.h"
#include "base/result.h"
#include "ptrace/remote_syscall.h"
#include "ptrace/target.h"
#include "ptrace/unforked_memory.h"

namespace shadowprof {

// What came of one instruction that a replica executed.
enum class StepEnd : std::uint8_t {
    done,
    syscall,  // it is a system call; it was not executed, and rip is behind it
    fault,    // it raised StepResult::signal; rip is at it
};

struct StepResult {
    StepEnd end = StepEnd::done;
    int signal = 0;
};

class Replica {
  public:
    // Forks the target, which stands still, by an injected call of one of its threads. The replica
    // shares the target's open files without holding them open, and has all signals blocked. It has
    // the memory in `unforked` too, which must be UnforkedMemory of this moment.
    // It is a child of ours where that can be, else of the target.
    // Errors: gone; unsupported (no thread can be borrowed now); permission (a seccomp filter
    // forbids it or might kill for it); system, where the fork failed: EAGAIN by a limit on
    // processes, ENOMEM.
    static Result<Replica> fork(ScopedStop& stop, std::span<const UnforkedRange> unforked = {});

    Replica(Replica&&) = default;
    Replica& operator=(Replica&&) = delete;
    // Kills the replica. The hub reaps it in passing; where it is a child of the target, the next
    // fork or detach lets the target reap what remains.
    ~Replica();

    pid_t pid() const { return process_->pid; }
    // /proc/PID/mem, read-only, close-on-exec. Reads end when the replica dies.
    int memory_fd() const { return memory_.get(); }

    // Where memory runs out, this is killed before the target, which has as much.
    void offer_to_oom_killer();

    // Another one as this one is now, made through a `syscall` instruction of its program. Only for
    // replicas that are children of ours.
    Result<Replica> copy(GuestAddress instruction);
    // For running it on purpose.
    StoppedThread& thread() { return thread_; }

    // Writes into the replica's own copy, also where it is read-only.
    Result<void> write(GuestAddress to, std::span<const std::byte> bytes);
    // Executes the one instruction at cpu.rip and reads the registers back. A repeated string
    // instruction is done one repetition a step.
    Result<StepResult> single_step(CpuState& cpu);

  private:
    // Kills the process when it ends; constructed as soon as the process exists.
    struct Process {
        WaitHub* hub = nullptr;
        pid_t pid = 0;
        pid_t namespace_pid = 0;
        std::shared_ptr<std::vector<pid_t>> dead_replicas;  // null: a child of ours

        Process() = default;
        Process(const Process&) = delete;
        Process& operator=(const Process&) = delete;
        ~Process();
    };

    Replica(std::unique_ptr<Process> process, UniqueFd memory, StoppedThread thread)
        : process_(std::move(process)), memory_(std::move(memory)), thread_(thread) {}
    static Result<std::unique_ptr<Process>> fork_through(
        RemoteSyscall& session, WaitHub& hub, std::shared_ptr<std::vector<pid_t>> dead_replicas);
    static Result<std::unique_ptr<Process>> process_of(
        const RemoteSyscall::Clone& clone, WaitHub& hub,
        std::shared_ptr<std::vector<pid_t>> dead_replicas);
    static Result<Replica> take_over(std::unique_ptr<Process> process);
    static Result<Replica> hand_over(Result<Replica> replica, GuestAddress instruction);

    std::unique_ptr<Process> process_;
    UniqueFd memory_;
    UniqueFd writable_memory_;
    StoppedThread thread_;
};

// A replica that nobody owns, as when the thread that was to bear it is killed in the middle of the
// call.
bool is_stray_replica(const StoppedThread& thread);

// Lets the target reap its dead replicas by calls in `session`. Those that are not quite dead yet
// remain in the list.
Result<void> reap_dead_replicas(RemoteSyscall& session, std::vector<pid_t>& dead_replicas);

}  // namespace shadowprof

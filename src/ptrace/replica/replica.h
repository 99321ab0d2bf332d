// A copy-on-write copy of the target at one moment. It never runs on its own: it stays stopped
// before its first instruction until it is killed, and dies with shadowprof. It has no open files,
// if the kernel supports that (see ForkServer).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "base/cpu_state.h"
#include "base/files/fd.h"
#include "base/result.h"
#include "ptrace/process/target.h"
#include "ptrace/replica/fork_server.h"
#include "ptrace/replica/owned_process.h"
#include "ptrace/replica/unforked_memory.h"

namespace shadowprof {

// The result of one instruction that a replica executed.
enum class StepEnd : std::uint8_t {
    done,
    syscall,  // a system call: it was not executed, and rip is behind it
    fault,    // it raised StepResult::signal, and rip is at it
};

struct StepResult {
    StepEnd end = StepEnd::done;
    int signal = 0;
};

class Replica {
  public:
    // Forks the stopped target through its fork server. The replica has all signals blocked. It
    // includes the memory in `unforked`, which must be UnforkedMemory of this moment. Other parts
    // of a process (working directory, credentials, limits) may be those of an earlier moment.
    // Errors: gone; those of ForkServer::of(); system: the fork failed, with EAGAIN by a limit on
    // processes, or ENOMEM.
    static Result<Replica> fork(ScopedStop& stop, std::span<const UnforkedRange> unforked = {});

    Replica(Replica&&) = default;
    Replica& operator=(Replica&&) = delete;
    // Kills the replica, which the hub reaps during later waits.
    ~Replica();

    pid_t pid() const { return process_.pid(); }
    // /proc/PID/mem, read-only and close-on-exec. Reads return nothing after the replica has died.
    int memory_fd() const { return memory_.get(); }

    // When memory runs out, the replica is killed before the target, which uses as much.
    void offer_to_oom_killer();

    // Makes another replica of this one's current state, through a `syscall` instruction of its
    // program. Only for replicas that are our children.
    Result<Replica> copy(GuestAddress instruction);
    // For callers that run the replica on purpose.
    StoppedThread& thread() { return process_.thread(); }

    // Writes into the replica's own copy, even of read-only memory.
    Result<void> write(GuestAddress to, std::span<const std::byte> bytes);
    // Executes the instruction at cpu.rip and reads the registers back. Of a repeated string
    // instruction, each step executes one repetition.
    Result<StepResult> single_step(CpuState& cpu);

  private:
    Replica(OwnedProcess process, UniqueFd memory)
        : process_(std::move(process)), memory_(std::move(memory)) {}
    static Result<Replica> of(Result<OwnedProcess> process);

    OwnedProcess process_;
    UniqueFd memory_;
    UniqueFd writable_memory_;
};

// Whether the thread is a replica or a fork server without an owner. This happens when the thread
// that was to create it is killed in the middle of the call.
bool is_stray_replica(const StoppedThread& thread);

}  // namespace shadowprof

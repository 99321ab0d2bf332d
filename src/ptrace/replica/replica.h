// A copy-on-write copy of the target at one moment. It never runs on its own: it stands still
// before its first instruction until it is killed, and dies with shadowprof. It has no files open
// where the kernel can do that (see ForkServer).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "base/cpu_state.h"
#include "base/files/fd.h"
#include "base/result.h"
#include "ptrace/replica/fork_server.h"
#include "ptrace/replica/owned_process.h"
#include "ptrace/replica/unforked_memory.h"
#include "ptrace/target/target.h"

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
    // Forks the target, which stands still, through its fork server. The replica has all signals
    // blocked. It has the memory in `unforked` too, which must be UnforkedMemory of this moment.
    // What a process has besides memory (working directory, credentials, limits) may be that of an
    // earlier moment.
    // Errors: gone; those of ForkServer::start(); system, where the fork failed: EAGAIN by a limit
    // on processes, ENOMEM.
    static Result<Replica> fork(ScopedStop& stop, std::span<const UnforkedRange> unforked = {});

    Replica(Replica&&) = default;
    Replica& operator=(Replica&&) = delete;
    // Kills the replica, which the hub reaps in passing.
    ~Replica();

    pid_t pid() const { return process_.pid(); }
    // /proc/PID/mem, read-only, close-on-exec. Reads end when the replica dies.
    int memory_fd() const { return memory_.get(); }

    // Where memory runs out, this is killed before the target, which has as much.
    void offer_to_oom_killer();

    // Another one as this one is now, made through a `syscall` instruction of its program. Only for
    // replicas that are children of ours.
    Result<Replica> copy(GuestAddress instruction);
    // For running it on purpose.
    StoppedThread& thread() { return process_.thread(); }

    // Writes into the replica's own copy, also where it is read-only.
    Result<void> write(GuestAddress to, std::span<const std::byte> bytes);
    // Executes the one instruction at cpu.rip and reads the registers back. A repeated string
    // instruction is done one repetition a step.
    Result<StepResult> single_step(CpuState& cpu);

  private:
    Replica(OwnedProcess process, UniqueFd memory)
        : process_(std::move(process)), memory_(std::move(memory)) {}
    static Result<Replica> of(Result<OwnedProcess> process);

    OwnedProcess process_;
    UniqueFd memory_;
    UniqueFd writable_memory_;
};

// A replica, or a fork server, that nobody owns, as when the thread that was to bear it is killed
// in the middle of the call.
bool is_stray_replica(const StoppedThread& thread);

}  // namespace shadowprof

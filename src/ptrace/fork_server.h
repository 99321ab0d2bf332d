// A process that has the target's memory, not a copy of it, and stands still: replicas are forked
// from it. So the target's own threads are borrowed once, when it is made, and not for each
// replica: a thread that loses its tracer while it is borrowed goes on with foreign registers.
//
// It has no files open and is in a session of its own, so that no end of a pipe, no lock and no
// signal for the target's process group is its affair. It is never a child of the target for longer
// than its making takes: a child of ours, or of the process that inherits orphans there.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <vector>

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/owned_process.h"
#include "ptrace/unforked_memory.h"

namespace shadowprof {

class ScopedStop;

// Reaps the dead of the process in whose thread `session` is. Those that are not quite dead yet
// remain.
Result<void> reap_zombies(RemoteSyscall& session, std::vector<pid_t>& zombies);

class ForkServer {
  public:
    // Of the target of `stop`, through one of its threads.
    // Errors: gone; unsupported (no thread can be borrowed now); permission (a seccomp filter
    // forbids it or might kill for it, or the process that inherits orphans would see it); system,
    // where the clone failed.
    static Result<std::unique_ptr<ForkServer>> start(ScopedStop& stop);

    ForkServer(const ForkServer&) = delete;
    ForkServer& operator=(const ForkServer&) = delete;
    ~ForkServer();

    pid_t pid() const { return process_.pid(); }

    // A copy of the target, with the memory in `unforked` too. `instruction` must be a `syscall`
    // instruction of the target. A snapshot needs the target stopped.
    // Errors: gone, where the server has been killed; else as OwnedProcess::bear().
    Result<OwnedProcess> fork(GuestAddress instruction, std::span<const UnforkedRange> unforked);

    // Kills its replicas that still live, and waits for their end.
    void end_replicas();

    // Reaps its dead children, of which the last may just be dying, and ends it.
    void end();

  private:
    ForkServer(OwnedProcess process, GuestAddress instruction, bool is_ours);
    Result<void> leave_surroundings(const StoppedThread& thread);
    void exit();
    Result<void> reap();

    OwnedProcess process_;
    GuestAddress instruction_;
    std::vector<OwnedProcess::Handle> replicas_;
    Zombies zombies_;  // null: its parent is ours and so are its replicas' parents
};

}  // namespace shadowprof

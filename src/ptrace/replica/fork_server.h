// A process that shares the target's memory (CLONE_VM) and never runs. Replicas are forked from it,
// so threads of the target are borrowed only to make it, and no replica is a child of the target.
//
// It has no files open and a session of its own: it keeps no pipe open, holds no lock, and gets no
// signal for the target's group. Its parent is shadowprof or whoever inherits orphans in the
// target's PID namespace; the target has a child only while it is made.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <vector>

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/replica/owned_process.h"
#include "ptrace/replica/unforked_memory.h"
#include "ptrace/thread/companion.h"

namespace shadowprof {

class ScopedStop;

class ForkServer final : public Companion {
  public:
    // That of the program which the stopped target executes now. The first call makes it, through a
    // thread of the target; it ends with the program, an exec, or the detach, and the pointer with
    // it. Errors: gone; unsupported: no thread can be borrowed now; permission: a seccomp filter or
    // namespace forbids it, or somebody would see it; system: the clone failed, or it cannot be
    // known who inherits orphans.
    static Result<ForkServer*> of(ScopedStop& stop);

    ~ForkServer() override;

    pid_t pid() const { return process_.pid(); }

    // A copy of the target, with the memory in `unforked` too. `instruction` must be a `syscall`
    // instruction of the target. Needs: the target is stopped, if the copy is to be of one moment.
    // Errors: gone, where the server has been killed; else as OwnedProcess::bear().
    Result<OwnedProcess> fork(GuestAddress instruction, std::span<const UnforkedRange> unforked);

    void end_replicas() override;

    // Lets it reap its dead replicas, for up to 2 s, and kills it.
    void end();

  private:
    static Result<std::unique_ptr<ForkServer>> start(ScopedStop& stop);
    ForkServer(OwnedProcess process, GuestAddress instruction, bool is_ours);
    Result<void> leave_surroundings(const StoppedThread& thread);
    void exit();
    Result<void> reap();

    OwnedProcess process_;
    GuestAddress instruction_;
    std::vector<OwnedProcess::Handle> replicas_;
    Zombies zombies_;  // null: it is our child, and so are its replicas (CLONE_PARENT)
};

}  // namespace shadowprof

// A process that shares the target's memory (CLONE_VM) and never runs. Replicas are forked from it.
// So threads of the target are borrowed only to make the fork server, and no replica is a child of
// the target.
//
// It has no open files and a session of its own: it keeps no pipe open, holds no lock, and gets no
// signal for the target's process group. Its parent is shadowprof or the process that inherits
// orphans in the target's PID namespace. The target has an extra child only while the server is
// made.
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
    // Returns the server of the program that the stopped target executes. The first call makes it,
    // through a thread of the target. The pointer is valid until the program ends, an exec, or the
    // detach. Errors: gone; unsupported: no thread can be borrowed now; permission: a seccomp
    // filter or namespace forbids it, or another process would notice it; system: the clone failed,
    // or it is unknown who inherits orphans.
    static Result<ForkServer*> of(ScopedStop& stop);

    ~ForkServer() override;

    pid_t pid() const { return process_.pid(); }

    // Makes a copy of the target that includes the memory in `unforked`. `instruction` must be a
    // `syscall` instruction of the target. The target must be stopped if the copy is to show one
    // moment. Errors: gone: the server has been killed; otherwise those of OwnedProcess::bear().
    Result<OwnedProcess> fork(GuestAddress instruction, std::span<const UnforkedRange> unforked);

    void end_replicas() override;

    // Lets the server reap its replicas for up to 2 s, then ends it.
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
    Zombies zombies_;  // null if the server and its replicas are our children (CLONE_PARENT)
};

}  // namespace shadowprof

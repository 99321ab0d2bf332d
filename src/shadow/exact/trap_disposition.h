// What a step or a breakpoint would take from a program that blocks or ignores SIGTRAP. The kernel
// forces that signal upon a thread, and to do so it unblocks it and puts the default in the place
// of the program's disposition (force_sig_info_to_task in kernel/signal.c).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "ptrace/target/target.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

// For each advance: open(), the advance, close(); then repair() if it ended by a trap of ours.
// Errors: gone; system; of repair() also those of RemoteSyscall::borrow().
class TrapDisposition {
  public:
    // Both must outlive it.
    TrapDisposition(Target& target, StoppedThread& thread) : target_(target), thread_(thread) {}

    // Unblocks SIGTRAP for one advance: the kernel resets the handler only where it must unblock or
    // un-ignore it.
    Result<void> open();
    // The thread stands still again and has its own signal mask back.
    Result<void> close();
    // After a trap of ours: drops it and ignores SIGTRAP again by an injected call, if the program
    // ignores it.
    Result<void> repair();
    // The program may have changed its disposition.
    void forget() { ignored_.reset(); }

  private:
    Target& target_;
    StoppedThread& thread_;
    std::optional<std::uint64_t> saved_mask_;
    std::optional<bool> ignored_;  // as last known
};

}  // namespace shadowprof

// Keeps what a step or a breakpoint would take from a program that blocks or ignores SIGTRAP. The
// kernel forces that signal upon a thread: it unblocks the signal and replaces the program's
// disposition by the default (force_sig_info_to_task in kernel/signal.c).
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "ptrace/process/target.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

// For each advance: call open(), advance, call close(), and repair() if a trap of ours ended the
// advance. Errors: gone; system; of repair() also those of RemoteSyscall::borrow().
class TrapDisposition {
  public:
    // `target` and `thread` must outlive it.
    TrapDisposition(Target& target, StoppedThread& thread) : target_(target), thread_(thread) {}

    // Unblocks SIGTRAP for one advance, as the kernel resets the handler only if it must unblock or
    // un-ignore the signal.
    Result<void> open();
    // To be called when the thread stands still again. Blocks SIGTRAP again. All else of the mask
    // is the kernel's: a fault whose signal was blocked has unblocked it, to kill.
    Result<void> close();
    // To be called after a trap of ours. If the program ignores SIGTRAP, drops the trap and ignores
    // SIGTRAP again by an injected call.
    Result<void> repair();
    // To be called when the program may have changed its disposition.
    void forget() { ignored_.reset(); }

  private:
    Target& target_;
    StoppedThread& thread_;
    bool is_unblocked_ = false;    // by open()
    std::optional<bool> ignored_;  // nothing: not known
};

}  // namespace shadowprof

// The questions of a worker whose guest has its system calls made by a process, and the
// supervisor's answers.
#pragma once

#include <cstdint>

#include "base/cpu_state.h"
#include "base/guest_address.h"
#include "emu/guest/guest_time.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

// The arguments of the system call that these registers make.
inline CallArguments call_arguments(const CpuState& cpu) {
    return {cpu[Gpr::rdi], cpu[Gpr::rsi], cpu[Gpr::rdx], cpu[Gpr::r10], cpu[Gpr::r8], cpu[Gpr::r9]};
}

struct CallRequest {
    enum class Kind : std::uint64_t {
        // The guest's `thread` has executed a `syscall` instruction. What the kernel reads has been
        // brought to the process.
        call,
        ended,    // whether a call under way has ended; the answer says of one, or Kind::none
        awaited,  // the same, and the answer waits until a call has ended or `until_ns`
    };
    Kind kind = Kind::call;
    std::uint64_t thread = 0;
    CpuState cpu;  // as the kernel would find it: `rip` is behind the instruction, RAX the number
    // Not 0: the process has all that the guest has written, so that others may read and write its
    // memory: a child, or a call of which nothing is known.
    std::uint64_t is_current = 0;
    std::uint64_t may_wait = 0;     // not 0: the call may be under way while others go on
    std::int64_t until_ns = 0;      // by CLOCK_MONOTONIC
    std::int64_t processor_ns = 0;  // the guest's processor time, now
    GuestTime time;                 // now
};

struct CallAnswer {
    enum class Kind : std::uint64_t {
        returned,   // the guest's thread goes on behind the call
        under_way,  // the thread waits; a later answer says how its call has ended
        born,    // as `returned`, and there is a new thread: the payload begins with its CpuState
        exited,  // the thread has ended
        left,    // the run ends: the thread goes on elsewhere, or cannot be followed
        gone,    // the run ends, and its memory is no longer that of the process
        none,    // no call has ended
    };
    Kind kind = Kind::returned;
    std::uint64_t thread = 0;      // that the answer is about
    std::uint64_t new_thread = 0;  // if one is born
    std::uint64_t rax = 0, fs_base = 0, gs_base = 0;
    // Size of the text of /proc/PID/maps in the mailbox; 0: the mappings are unchanged.
    std::uint64_t maps_bytes = 0;
    // Not 0: the run must end behind this answer.
    std::uint64_t ends_run = 0;
    std::int64_t timer_due_ns = GuestTime::never_ns;  // as in GuestTime, from now on
    // If a thread has ended: its id, the word that the kernel clears, and the head of its list of
    // robust futexes, or 0.
    std::int64_t tid = 0;
    GuestAddress cleared, robust_list;
    // The payload's last part: MemoryRanges that the kernel wrote besides what the call writes.
};

}  // namespace shadowprof

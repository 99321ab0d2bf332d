// Futexes between threads of a sample, as other calls use them.
#pragma once

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/futex_queue.h"

namespace shadowprof {

// Wakes up to `most` threads that wait on the word at `address` for one of `bits`, in the order in
// which they began to wait. Returns how many.
std::uint32_t wake_futex(SyscallCall& call, GuestAddress address, std::uint64_t most,
                         std::uint32_t bits = any_futex_bits);

// When a thread ends, the kernel clears a word and wakes its waiters, such as pthread_join. A word
// that was registered before the snapshot is found by a waiter on a word with the thread's id.
void wake_joiners(SyscallCall& call, std::int32_t ended_tid);

}  // namespace shadowprof

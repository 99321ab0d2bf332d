// Futexes among the threads of a sample, as other calls need them.
#pragma once

#include "guest_kernel/state/call.h"

namespace shadowprof {

inline constexpr std::uint32_t any_futex_bits = ~std::uint32_t{0};

// Wakes up to `most` threads that wait on the word at `address` for one of `bits`, the first ones
// first. Returns how many.
std::uint32_t wake_futex(SyscallCall& call, GuestAddress address, std::uint64_t most,
                         std::uint32_t bits = any_futex_bits);

// The kernel clears a word when a thread ends, and wakes who waits on it, as pthread_join does.
// Where that word was named before the snapshot, it is known by who waits on it: it holds the id of
// the thread.
void wake_joiners(SyscallCall& call, std::int32_t ended_tid);

}  // namespace shadowprof

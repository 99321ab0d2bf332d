// Threads of a guest that wait on futexes, longest waiting first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/guest_address.h"
#include "emu/guest/guest_threads.h"

namespace shadowprof {

inline constexpr std::uint32_t any_futex_bits = ~std::uint32_t{0};

// A thread that waits on the word at `address` for one of `bits`.
struct FutexWaiter {
    GuestAddress address;
    std::uint32_t bits = any_futex_bits;
    GuestThreads::Index thread = 0;
    std::optional<std::int64_t> deadline_ns = {};  // by CLOCK_MONOTONIC
};

using FutexQueue = std::vector<FutexWaiter>;

// Wakes up to `most` who wait on the word at `address` for one of `bits`. Returns how many.
std::uint32_t wake_waiters(FutexQueue& queue, GuestAddress address, std::uint64_t most,
                           std::uint32_t bits, GuestThreads& threads);
// Lets up to `most` who wait on the word at `from` wait on that at `to`. Returns how many.
std::uint32_t move_waiters(FutexQueue& queue, GuestAddress from, GuestAddress to,
                           std::uint64_t most);

}  // namespace shadowprof

#include "guest_kernel/state/futex_queue.h"

namespace shadowprof {

std::uint32_t wake_waiters(FutexQueue& queue, GuestAddress address, std::uint64_t most,
                           std::uint32_t bits, GuestThreads& threads) {
    std::uint32_t woken = 0;
    std::erase_if(queue, [&](const FutexWaiter& waiter) {
        if (waiter.address != address || (waiter.bits & bits) == 0 || woken == most) return false;
        threads.wake(waiter.thread, 0);
        ++woken;
        return true;
    });
    return woken;
}

std::uint32_t move_waiters(FutexQueue& queue, GuestAddress from, GuestAddress to,
                           std::uint64_t most) {
    std::uint32_t moved = 0;
    for (auto& waiter : queue) {
        if (waiter.address != from || moved == most) continue;
        waiter.address = to;
        ++moved;
    }
    return moved;
}

}  // namespace shadowprof

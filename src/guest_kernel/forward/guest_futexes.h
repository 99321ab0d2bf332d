// Futexes of a guest of several threads, on memory that no other process has: futex(2),
// get_robust_list(2). The guest's threads meet here in an order that depends on them alone.
#pragma once

#include <time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/guest_address.h"
#include "emu/guest/guest_space.h"
#include "emu/guest/guest_threads.h"
#include "guest_kernel/state/futex_queue.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

class GuestFutexes {
  public:
    // Reads CLOCK_MONOTONIC or CLOCK_REALTIME, in ns.
    using ReadClock = std::function<std::int64_t(clockid_t)>;
    explicit GuestFutexes(ReadClock read_clock) : read_clock_(std::move(read_clock)) {}

    // Makes the current thread's call of futex(2), futex_wait or futex_wake, which may let it wait.
    // Returns the result; nothing if it is another call, or if the kernel must make it: on memory
    // shared with others, and for locks with priority inheritance.
    std::optional<std::int64_t> call(std::uint32_t number, const CallArguments& arguments,
                                     GuestThreads& threads, GuestSpace& space);
    // Wakes whoever waits on the word that is cleared at a thread's end, after clearing it.
    void clear(GuestAddress word, GuestThreads& threads, GuestSpace& space);
    // Marks the robust futexes that a thread with this id has held until its end, and wakes one
    // waiter of each.
    void leave_robust_list(GuestAddress head, std::int64_t tid, GuestThreads& threads,
                           GuestSpace& space);
    // Wakes those whose time is over at `now_ns`, by CLOCK_MONOTONIC.
    void wake_late(std::int64_t now_ns, GuestThreads& threads);
    // When the first of those who wait no longer than some time must be woken.
    std::optional<std::int64_t> first_deadline_ns() const;
    // The thread does not wait any more.
    void forget(GuestThreads::Index thread);

  private:
    std::optional<std::int64_t> call_futex(const CallArguments& arguments, GuestThreads& threads,
                                           GuestSpace& space);
    std::int64_t wait(const CallArguments& arguments, GuestThreads& threads, GuestSpace& space);
    std::int64_t wait_by_clock(const CallArguments& arguments, GuestThreads& threads,
                               GuestSpace& space);
    std::int64_t begin_wait(const FutexWaiter& waiter, std::uint64_t expected,
                            GuestThreads& threads, GuestSpace& space);
    std::int64_t requeue(const CallArguments& arguments, GuestThreads& threads);
    std::int64_t wake_operation(const CallArguments& arguments, GuestThreads& threads,
                                GuestSpace& space);
    std::int64_t wake(GuestAddress address, std::uint64_t most, std::uint32_t bits,
                      GuestThreads& threads);
    void leave_robust_futex(GuestAddress entry, std::uint64_t offset, std::int64_t tid,
                            GuestThreads& threads, GuestSpace& space);

    std::int64_t monotonic_ahead_ns(bool of_real_time) const;

    ReadClock read_clock_;
    FutexQueue waiters_;
};

}  // namespace shadowprof

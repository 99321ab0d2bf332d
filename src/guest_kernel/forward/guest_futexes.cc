#include "guest_kernel/forward/guest_futexes.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "guest_kernel/forward/wait_times.h"

namespace shadowprof {
namespace {

constexpr std::int64_t one_second_ns = 1'000'000'000;
// Their sizes of words (include/uapi/linux/futex.h since Linux 6.7).
constexpr std::uint32_t futex_wake_number = 454, futex_wait_number = 455;
constexpr std::uint64_t word_size_mask = 3, size_of_32_bits = 2;
constexpr auto command_mask = static_cast<std::uint32_t>(FUTEX_CMD_MASK);

std::uint32_t operation_of(const CallArguments& a) {
    return static_cast<std::uint32_t>(a[1]);
}

bool is_shared(GuestAddress address, const GuestSpace& space) {
    const auto* mapping = space.find(address);
    return mapping && mapping->shared;
}

bool has_second_word(std::uint32_t command) {
    return command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE || command == FUTEX_WAKE_OP;
}

// How many threads are woken at most by a call that wakes one in any case.
std::uint64_t at_least_one(std::uint64_t argument) {
    return static_cast<std::uint64_t>(std::max(1, static_cast<std::int32_t>(argument)));
}

// The time at `address` in ns, or -errno.
std::int64_t time_at(GuestAddress address, GuestSpace& space) {
    const auto time = read_value<timespec>(space, address);
    if (!time) return -EFAULT;
    constexpr auto longest = std::numeric_limits<std::int64_t>::max() / one_second_ns / 4;
    return ns_of(*time, longest).value_or(-EINVAL);
}

// The operation and comparison of FUTEX_WAKE_OP, as futex(2) encodes them.
struct WordOperation {
    std::uint32_t operation, comparison;
    std::int32_t operand, compared;

    static WordOperation decode(std::uint32_t word) {
        const auto signed_12_bits = [](std::uint32_t value) {
            return static_cast<std::int32_t>(value << 20) >> 20;
        };
        WordOperation result{.operation = word >> 28 & 7,
                             .comparison = word >> 24 & 15,
                             .operand = signed_12_bits(word >> 12 & 0xfff),
                             .compared = signed_12_bits(word & 0xfff)};
        if ((word >> 28 & FUTEX_OP_OPARG_SHIFT) != 0)
            result.operand = static_cast<std::int32_t>(1u << (result.operand & 31));
        return result;
    }

    std::optional<std::int32_t> apply(std::int32_t old) const {
        switch (operation) {
            case FUTEX_OP_SET:
                return operand;
            case FUTEX_OP_ADD:
                return static_cast<std::int32_t>(static_cast<std::uint32_t>(old) +
                                                 static_cast<std::uint32_t>(operand));
            case FUTEX_OP_OR:
                return old | operand;
            case FUTEX_OP_ANDN:
                return old & ~operand;
            case FUTEX_OP_XOR:
                return old ^ operand;
            default:
                return std::nullopt;
        }
    }

    std::optional<bool> holds(std::int32_t old) const {
        switch (comparison) {
            case FUTEX_OP_CMP_EQ:
                return old == compared;
            case FUTEX_OP_CMP_NE:
                return old != compared;
            case FUTEX_OP_CMP_LT:
                return old < compared;
            case FUTEX_OP_CMP_LE:
                return old <= compared;
            case FUTEX_OP_CMP_GT:
                return old > compared;
            case FUTEX_OP_CMP_GE:
                return old >= compared;
            default:
                return std::nullopt;
        }
    }
};

}  // namespace

// How far the clock that a time-out is by is behind CLOCK_MONOTONIC.
std::int64_t GuestFutexes::monotonic_ahead_ns(bool of_real_time) const {
    return of_real_time ? read_clock_(CLOCK_MONOTONIC) - read_clock_(CLOCK_REALTIME) : 0;
}

std::optional<std::int64_t> GuestFutexes::call(std::uint32_t number, const CallArguments& a,
                                               GuestThreads& threads, GuestSpace& space) {
    if (number == SYS_futex) return call_futex(a, threads, space);
    const bool waits = number == futex_wait_number;
    if ((!waits && number != futex_wake_number) || is_shared({a[0]}, space) ||
        (a[3] & word_size_mask) != size_of_32_bits)
        return std::nullopt;
    if (waits) return wait_by_clock(a, threads, space);
    const auto bits = static_cast<std::uint32_t>(a[1]);
    return bits == 0 ? -EINVAL : wake({a[0]}, static_cast<std::uint32_t>(a[2]), bits, threads);
}

std::optional<std::int64_t> GuestFutexes::call_futex(const CallArguments& a, GuestThreads& threads,
                                                     GuestSpace& space) {
    const auto command = operation_of(a) & command_mask;
    if (is_shared({a[0]}, space) || (has_second_word(command) && is_shared({a[4]}, space)))
        return std::nullopt;
    const auto most = at_least_one(a[2]);
    const auto bits = static_cast<std::uint32_t>(a[5]);
    switch (command) {
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET:
            return wait(a, threads, space);
        case FUTEX_WAKE:
            return wake({a[0]}, most, any_futex_bits, threads);
        case FUTEX_WAKE_BITSET:
            return bits == 0 ? -EINVAL : wake({a[0]}, most, bits, threads);
        case FUTEX_CMP_REQUEUE: {
            const auto word = read_value<std::uint32_t>(space, {a[0]});
            if (!word) return -EFAULT;
            return *word == bits ? requeue(a, threads) : -EAGAIN;
        }
        case FUTEX_REQUEUE:
            return requeue(a, threads);
        case FUTEX_WAKE_OP:
            return wake_operation(a, threads, space);
        default:
            return std::nullopt;
    }
}

std::int64_t GuestFutexes::wait(const CallArguments& a, GuestThreads& threads, GuestSpace& space) {
    const bool with_bits = (operation_of(a) & command_mask) == FUTEX_WAIT_BITSET;
    FutexWaiter waiter{.address = {a[0]},
                       .bits = with_bits ? static_cast<std::uint32_t>(a[5]) : any_futex_bits,
                       .thread = threads.current(),
                       .deadline_ns = {}};
    if (a[3] != 0) {
        const auto ns = time_at({a[3]}, space);
        if (ns < 0) return ns;
        const bool by_real_time = (operation_of(a) & FUTEX_CLOCK_REALTIME) != 0;
        waiter.deadline_ns =
            with_bits ? ns + monotonic_ahead_ns(by_real_time) : ns + read_clock_(CLOCK_MONOTONIC);
    }
    return begin_wait(waiter, a[2], threads, space);
}

// futex_wait: a word, its value, bits, flags, and a time by a clock.
std::int64_t GuestFutexes::wait_by_clock(const CallArguments& a, GuestThreads& threads,
                                         GuestSpace& space) {
    FutexWaiter waiter{.address = {a[0]},
                       .bits = static_cast<std::uint32_t>(a[2]),
                       .thread = threads.current(),
                       .deadline_ns = {}};
    if (a[4] != 0) {
        const auto clock = static_cast<std::int32_t>(a[5]);
        if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) return -EINVAL;
        const auto ns = time_at({a[4]}, space);
        if (ns < 0) return ns;
        waiter.deadline_ns = ns + monotonic_ahead_ns(clock == CLOCK_REALTIME);
    }
    return begin_wait(waiter, a[1], threads, space);
}

std::int64_t GuestFutexes::begin_wait(const FutexWaiter& waiter, std::uint64_t expected,
                                      GuestThreads& threads, GuestSpace& space) {
    if (waiter.bits == 0 || waiter.address.value % sizeof(std::uint32_t) != 0) return -EINVAL;
    const auto word = read_value<std::uint32_t>(space, waiter.address);
    if (!word) return -EFAULT;
    if (*word != static_cast<std::uint32_t>(expected)) return -EAGAIN;
    waiters_.push_back(waiter);
    threads.wait();
    return 0;
}

std::int64_t GuestFutexes::wake(GuestAddress address, std::uint64_t most, std::uint32_t bits,
                                GuestThreads& threads) {
    return wake_waiters(waiters_, address, most, bits, threads);
}

// Wakes some waiters, and lets some others wait on another futex.
std::int64_t GuestFutexes::requeue(const CallArguments& a, GuestThreads& threads) {
    const auto woken = wake({a[0]}, static_cast<std::uint32_t>(a[2]), any_futex_bits, threads);
    return woken + move_waiters(waiters_, {a[0]}, {a[4]}, static_cast<std::uint32_t>(a[3]));
}

std::int64_t GuestFutexes::wake_operation(const CallArguments& a, GuestThreads& threads,
                                          GuestSpace& space) {
    const auto operation = WordOperation::decode(static_cast<std::uint32_t>(a[5]));
    const auto old = read_value<std::int32_t>(space, {a[4]});
    if (!old) return -EFAULT;
    const auto changed = operation.apply(*old);
    const auto holds = operation.holds(*old);
    if (!changed || !holds) return -ENOSYS;
    if (!guest_store(space, GuestAddress{a[4]}, *changed)) return -EFAULT;
    auto woken = wake({a[0]}, at_least_one(a[2]), any_futex_bits, threads);
    if (*holds) woken += wake({a[4]}, at_least_one(a[3]), any_futex_bits, threads);
    return woken;
}

void GuestFutexes::clear(GuestAddress word, GuestThreads& threads, GuestSpace& space) {
    if (guest_store(space, word, std::int32_t{0})) wake(word, 1, any_futex_bits, threads);
}

void GuestFutexes::leave_robust_list(GuestAddress head, std::int64_t tid, GuestThreads& threads,
                                     GuestSpace& space) {
    // struct robust_list_head, and ROBUST_LIST_LIMIT (include/uapi/linux/futex.h). The lowest bit
    // of a pointer marks a lock with priority inheritance.
    struct Head {
        std::uint64_t first, offset, pending;
    };
    const auto list = read_value<Head>(space, head);
    if (!list) return;
    auto entry = list->first;
    for (int i = 0; i < ROBUST_LIST_LIMIT && (entry & ~1ULL) != head.value; ++i) {
        const auto next = read_value<std::uint64_t>(space, {entry & ~1ULL});
        if (entry != list->pending) leave_robust_futex({entry}, list->offset, tid, threads, space);
        if (!next) break;
        entry = *next;
    }
    if (list->pending != 0) leave_robust_futex({list->pending}, list->offset, tid, threads, space);
}

void GuestFutexes::leave_robust_futex(GuestAddress entry, std::uint64_t offset, std::int64_t tid,
                                      GuestThreads& threads, GuestSpace& space) {
    const GuestAddress word{(entry.value & ~1ULL) + offset};
    const auto value = read_value<std::uint32_t>(space, word);
    if (!value || (*value & FUTEX_TID_MASK) != static_cast<std::uint64_t>(tid)) return;
    guest_store(space, word, (*value & FUTEX_WAITERS) | std::uint32_t{FUTEX_OWNER_DIED});
    const bool inherits = (entry.value & 1) != 0;
    if ((*value & FUTEX_WAITERS) != 0 && !inherits) wake(word, 1, any_futex_bits, threads);
}

void GuestFutexes::wake_late(std::int64_t now_ns, GuestThreads& threads) {
    std::erase_if(waiters_, [&](const FutexWaiter& waiter) {
        if (!waiter.deadline_ns || *waiter.deadline_ns > now_ns) return false;
        threads.wake(waiter.thread, -ETIMEDOUT);
        return true;
    });
}

std::optional<std::int64_t> GuestFutexes::first_deadline_ns() const {
    std::optional<std::int64_t> first;
    for (const auto& waiter : waiters_)
        if (waiter.deadline_ns && (!first || *waiter.deadline_ns < *first))
            first = waiter.deadline_ns;
    return first;
}

void GuestFutexes::forget(GuestThreads::Index thread) {
    std::erase_if(waiters_, [&](const FutexWaiter& waiter) { return waiter.thread == thread; });
}

}  // namespace shadowprof

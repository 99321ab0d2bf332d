// futex_waitv waits for any of several words until an absolute time, and goes on behind SA_RESTART.
#include <linux/futex.h>
#include <sys/syscall.h>

#include "waiting.h"

enum { futex_waitv_number = 449 };

static uint32_t* word;

static long futex(int operation, uint32_t value, const struct timespec* timeout) {
    return syscall(SYS_futex, word, operation, value, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void wake(void) {
    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    CALL(futex(FUTEX_WAKE, 1, NULL));
}

// Waits until the word is 1, which it may be already, and sets it to 0 again.
static long wait_for(long result) {
    const int error = errno;
    if (result < 0 && error == EAGAIN) result = 0;
    if (result == 0) {
        CHECK(__atomic_load_n(word, __ATOMIC_SEQ_CST) == 1);
        __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
    }
    errno = error;
    return result;
}

// struct futex_waitv of the kernel's headers since Linux 5.16.
struct waiter {
    uint64_t value, address;
    uint32_t flags, reserved;
};

static long wait_for_any(struct timespec until) {
    struct waiter waiters[2] = {{0, (uintptr_t)(word + 1), 2, 0}, {0, (uintptr_t)word, 2, 0}};
    return syscall(futex_waitv_number, waiters, 2, 0, &until, CLOCK_MONOTONIC);
}

static long enter(void) {
    const long result = wait_for_any(after(CLOCK_MONOTONIC, (int64_t)300 * second_ns));
    CHECK(result <= 0 || result == 1);
    return wait_for(result == 1 ? 0 : result);
}

int main(void) {
    word = shared_memory(2 * sizeof *word);
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        const long result = wait_for_any(after(CLOCK_MONOTONIC, millisecond_ns));
        if (result < 0 && errno == ENOSYS) skip("no futex_waitv");
        CHECK(result == -1 && errno == ETIMEDOUT);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 0, .restarts = true});
}

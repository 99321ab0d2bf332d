// A futex wait with a relative time-out lasts for the whole time; every handler ends it.
#include <linux/futex.h>
#include <sys/syscall.h>

#include "waiting.h"

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

static long enter(void) {
    return wait_for(futex(FUTEX_WAIT, 0, &(struct timespec){.tv_sec = 300}));
}

int main(void) {
    word = shared_memory(sizeof *word);
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        struct timespec timeout = {.tv_nsec = millisecond_ns};
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        CHECK(futex(FUTEX_WAIT, 0, &timeout) == -1 && errno == ETIMEDOUT);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= millisecond_ns);
        CHECK(timeout.tv_sec == 0 && timeout.tv_nsec == millisecond_ns);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 0});
}

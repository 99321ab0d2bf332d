// FUTEX_WAKE wakes as many waiters as requested, and returns how many.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "check.h"

enum { waiters = 3 };

static int word;
static atomic_int woken;

static void* body(void* argument) {
    (void)argument;
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL));
    ++woken;
    return NULL;
}

int main(void) {
    for (int round = 0; round < 25; ++round) {
        woken = 0;
        pthread_t threads[waiters];
        for (int i = 0; i < waiters; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
        spin(40000);
        long total = 0;
        while (total < waiters) {
            const long now = CALL(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
            CHECK(now <= 1);
            total += now;
            if (now == 0) sched_yield();
        }
        for (int i = 0; i < waiters; ++i) CHECK(!pthread_join(threads[i], NULL));
        CHECK(woken == waiters);
        CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1) == 0);
    }
    puts("ok");
}

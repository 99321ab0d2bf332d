// FUTEX_CMP_REQUEUE moves waiters to another word, unless the value has changed.
// known-fault: sampled,bursts,exact,family,verify,attached: a waiter is stopped and goes back
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "check.h"

enum { waiters = 3 };

static int one, two;
static atomic_int woken;

static void* body(void* argument) {
    (void)argument;
    CALL(syscall(SYS_futex, &one, FUTEX_WAIT_PRIVATE, 0, NULL));
    ++woken;
    return NULL;
}

int main(void) {
    for (int round = 0; round < 25; ++round) {
        woken = 0;
        pthread_t threads[waiters];
        for (int i = 0; i < waiters; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
        CHECK(syscall(SYS_futex, &one, FUTEX_CMP_REQUEUE_PRIVATE, 1, 10, &two, 7) == -1 &&
              errno == EAGAIN);
        long moved = 0;
        while (moved < waiters - 1) {
            spin(5000);
            moved += CALL(syscall(SYS_futex, &one, FUTEX_CMP_REQUEUE_PRIVATE, 0, 1, &two, 0));
        }
        spin(20000);
        long last = 0;
        while (last < 1) last += CALL(syscall(SYS_futex, &one, FUTEX_WAKE_PRIVATE, 10));
        CHECK(CALL(syscall(SYS_futex, &two, FUTEX_WAKE_PRIVATE, 10)) == waiters - 1);
        for (int i = 0; i < waiters; ++i) CHECK(!pthread_join(threads[i], NULL));
        CHECK(woken == waiters);
    }
    puts("ok");
}

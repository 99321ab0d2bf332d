// A waiter that is requeued from a word to a PI futex owns it when it wakes.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"

static int condition, lock;

static void* body(void* argument) {
    (void)argument;
    const int self = (int)syscall(SYS_gettid);
    CALL(syscall(SYS_futex, &condition, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, NULL, &lock, 0));
    CHECK((lock & FUTEX_TID_MASK) == self);
    spin(20000);
    CALL(syscall(SYS_futex, &lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
    return NULL;
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        lock = 0;
        pthread_t thread;
        CALL(syscall(SYS_futex, &lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        spin(30000);
        while (CALL(syscall(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 0, &lock, 0)) ==
               0)
            sched_yield();
        spin(30000);
        CALL(syscall(SYS_futex, &lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
        CHECK(!pthread_join(thread, NULL));
        CHECK((lock & FUTEX_TID_MASK) == 0);
    }
    puts("ok");
}

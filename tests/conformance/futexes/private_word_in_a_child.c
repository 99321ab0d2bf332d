// A waiter on a private word is not woken by a child that has a copy of it.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "child.h"

static int word;
static atomic_int woken;

static void* body(void* argument) {
    (void)argument;
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL));
    woken = 1;
    return NULL;
}

int main(void) {
    for (int round = 0; round < 30; ++round) {
        woken = 0;
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        spin(40000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 10) == 0);
            _exit(0);
        }
        expect_exit(child, 0);
        CHECK(woken == 0);
        while (CALL(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 10)) == 0) sched_yield();
        CHECK(!pthread_join(thread, NULL));
    }
    puts("ok");
}

// futex_wake and futex_wait (Linux 6.7) act as FUTEX_WAKE and FUTEX_WAIT; flags give the size.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

enum { call_wake = 454, call_wait = 455, size_32_private = 0x02 | 0x80 };

static uint32_t word;

static void* body(void* argument) {
    (void)argument;
    CALL(syscall(call_wait, &word, 0L, ~0L & 0xffffffff, size_32_private, NULL, CLOCK_MONOTONIC));
    return NULL;
}

int main(void) {
    if (syscall(call_wake, &word, 0xffffffffL, 1, size_32_private) == -1) skip("no futex_wake");
    for (int round = 0; round < 50; ++round) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        spin(40000);
        while (CALL(syscall(call_wake, &word, 0xffffffffL, 1, size_32_private)) == 0) sched_yield();
        CHECK(!pthread_join(thread, NULL));
        CHECK(syscall(call_wait, &word, 9L, 0xffffffffL, size_32_private, NULL, CLOCK_MONOTONIC) ==
              -1);
        CHECK(errno == EAGAIN);
    }
    puts("ok");
}

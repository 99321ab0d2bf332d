// futex_waitv returns which word was woken, fails with EAGAIN if one differs, and times out.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

static uint32_t words[3];

static void* wakes(void* argument) {
    uint32_t* word = &words[*(int*)argument];
    spin(30000);
    while (CALL(syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1)) == 0) sched_yield();
    return NULL;
}

int main(void) {
    struct futex_waitv list[3];
    memset(list, 0, sizeof list);
    for (int i = 0; i < 3; ++i) {
        list[i].uaddr = (uintptr_t)&words[i];
        list[i].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
    }
    const struct timespec past = {0, 0};
    if (syscall(SYS_futex_waitv, list, 3, 0, &past, CLOCK_MONOTONIC) == -1 && errno != ETIMEDOUT)
        skip("no futex_waitv");
    for (int round = 0; round < 40; ++round) {
        int which = round % 3;
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, wakes, &which));
        CHECK(CALL(syscall(SYS_futex_waitv, list, 3, 0, NULL, 0)) == which);
        CHECK(!pthread_join(thread, NULL));
        words[2] = 1;
        CHECK(syscall(SYS_futex_waitv, list, 3, 0, NULL, 0) == -1 && errno == EAGAIN);
        words[2] = 0;
        CHECK(syscall(SYS_futex_waitv, list, 3, 0, &past, CLOCK_MONOTONIC) == -1 &&
              errno == ETIMEDOUT);
        spin(30000);
    }
    puts("ok");
}

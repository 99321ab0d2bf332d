// FUTEX_WAIT that nobody wakes fails with ETIMEDOUT, and not early.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

static int64_t now_ns(void) {
    struct timespec now;
    CALL(clock_gettime(CLOCK_MONOTONIC, &now));
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(void) {
    static int word = 3;
    for (int round = 0; round < 30; ++round) {
        const struct timespec wait = {0, 1500000};
        struct timespec kept = wait;
        const int64_t begin = now_ns();
        CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 3, &kept) == -1 && errno == ETIMEDOUT);
        CHECK(now_ns() - begin >= 1500000);
        CHECK(kept.tv_sec == 0 && kept.tv_nsec == wait.tv_nsec);
        spin(60000);
    }
    puts("ok");
}

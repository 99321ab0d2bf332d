// FUTEX_WAIT on another value fails with EAGAIN at once; FUTEX_WAKE without waiters returns 0.
#include <linux/futex.h>
#include <sys/syscall.h>

#include "check.h"

int main(void) {
    static int word;
    for (int round = 0; round < 200; ++round) {
        word = round;
        spin(60000);
        CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, round + 1, NULL) == -1 && errno == EAGAIN);
        CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, round - 1, NULL) == -1 &&
              errno == EAGAIN);
        CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 100) == 0);
        CHECK(word == round);
    }
    puts("ok");
}

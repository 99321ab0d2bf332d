// Two processes wake each other on words in memory that they share.
// diverges: children write to memory that it shares with them
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "child.h"

static void wait_until(volatile int* word, int value) {
    for (int now; (now = *word) != value;)
        if (syscall(SYS_futex, word, FUTEX_WAIT, now, NULL) < 0) CHECK(errno == EAGAIN);
}

static void set(volatile int* word, int value) {
    *word = value;
    CALL(syscall(SYS_futex, word, FUTEX_WAKE, 1));
}

int main(void) {
    volatile int* turn =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(turn != MAP_FAILED);
    const pid_t child = CALL(fork());
    for (int round = 0; round < 150; ++round) {
        wait_until(turn, 2 * round + (child == 0));
        spin(30000);
        CHECK(*turn == 2 * round + (child == 0));
        set(turn, *turn + 1);
    }
    if (child == 0) _exit(0);
    expect_exit(child, 0);
    printf("%d\n", *turn);
}

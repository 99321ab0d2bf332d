// A stack grows for a signal frame as it does for pushes.
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    spin(40000);
    ++handled;
}

// Sends the signal from greater and greater depths, where no page of the stack was touched before.
__attribute__((noinline)) static int sink(int depth) {
    volatile char frame[3000];
    frame[sizeof frame - 1] = (char)depth;
    CALL(raise(SIGUSR1));
    CHECK(frame[sizeof frame - 1] == (char)depth);
    return depth == 0 ? 0 : 1 + sink(depth - 1) + (frame[sizeof frame - 1] - (char)depth);
}

int main(void) {
    CHECK(signal(SIGUSR1, count) != SIG_ERR);
    for (int round = 1; round <= 6; ++round) {
        spin(500000);
        CHECK(sink(10 * round) == 10 * round);
    }
    CHECK(handled == 10 * 21 + 6);
    printf("ok\n");
}

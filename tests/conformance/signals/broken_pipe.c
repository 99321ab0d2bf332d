// A write to a pipe without a reader raises SIGPIPE and fails with EPIPE.
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    CHECK(signal_number == SIGPIPE);
    ++handled;
}

int main(void) {
    CHECK(signal(SIGPIPE, count) != SIG_ERR);
    for (int round = 1; round <= 60; ++round) {
        int ends[2];
        CALL(pipe(ends));
        close(ends[0]);
        spin(400000);
        CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
        CHECK(handled == round);
        close(ends[1]);
    }
    printf("ok\n");
}

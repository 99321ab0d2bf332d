// A write to a pipe whose only reading end was just closed sends SIGPIPE and fails with EPIPE.
#include <poll.h>
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t signals;

static void count(int number) {
    (void)number;
    ++signals;
}

int main(void) {
    CHECK(signal(SIGPIPE, count) != SIG_ERR);
    for (int round = 0; round < 200; ++round) {
        int ends[2];
        CALL(pipe(ends));
        CHECK(write(ends[1], "x", 1) == 1);
        spin(60000);
        CALL(close(ends[0]));
        CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
        CHECK(signals == round + 1);
        struct pollfd one = {ends[1], POLLOUT, 0};
        CHECK(poll(&one, 1, 0) == 1 && (one.revents & POLLERR));
        CALL(close(ends[1]));
    }
    puts("ok");
}

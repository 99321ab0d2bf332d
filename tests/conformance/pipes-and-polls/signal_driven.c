// With O_ASYNC a descriptor sends its signal, with its number and events, when bytes arrive.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "check.h"

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    const int number = SIGRTMIN + 2;
    sigaddset(&set, number);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    int ends[2];
    CALL(pipe(ends));
    CALL(fcntl(ends[0], F_SETOWN, getpid()));
    CALL(fcntl(ends[0], F_SETSIG, number));
    CALL(fcntl(ends[0], F_SETFL, O_ASYNC));
    for (int round = 0; round < 100; ++round) {
        const struct timespec now = {0, 0};
        siginfo_t info;
        CHECK(sigtimedwait(&set, &info, &now) == -1 && errno == EAGAIN);
        CHECK(write(ends[1], "x", 1) == 1);
        CHECK(CALL(sigwaitinfo(&set, &info)) == number);
        CHECK(info.si_fd == ends[0] && info.si_code == POLL_IN);
        spin(60000);
        char byte;
        CHECK(read(ends[0], &byte, 1) == 1);
        while (sigtimedwait(&set, &info, &now) == number) CHECK(info.si_fd == ends[0]);
    }
    puts("ok");
}

// pselect waits with the given mask, and the thread's own mask is restored afterwards.
#include <sys/select.h>

#include "waiting.h"

static int ends[2];

static void wake(void) {
    CHECK(write(ends[1], "x", 1) == 1);
}

static void take(void) {
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
}

static sigset_t blocked;

static long select_for(const struct timespec* timeout) {
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    sigset_t none, found;
    sigemptyset(&none);
    const long result = pselect(ends[0] + 1, &readable, NULL, NULL, timeout, &none);
    const int error = errno;
    CALL(sigprocmask(SIG_SETMASK, NULL, &found));
    CHECK(sigismember(&found, SIGALRM) && sigismember(&found, SIGUSR1) &&
          !sigismember(&found, SIGTERM));
    errno = error;
    return result;
}

static long enter(void) {
    const long result = select_for(&(struct timespec){.tv_sec = 300});
    if (result == 1) take();
    return result;
}

int main(void) {
    CALL(pipe(ends));
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    sigaddset(&blocked, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &blocked, NULL));
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        CHECK(select_for(&(struct timespec){.tv_nsec = millisecond_ns}) == 0);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 1});
}

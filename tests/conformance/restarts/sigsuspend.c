// sigsuspend waits with another mask until a handler has run, and restores the old mask.
#include "waiting.h"

static long enter(void) {
    sigset_t none, found;
    sigemptyset(&none);
    const int before = handled;
    const long result = sigsuspend(&none);
    const int error = errno;
    CHECK(handled > before);
    CALL(sigprocmask(SIG_SETMASK, NULL, &found));
    CHECK(sigismember(&found, SIGALRM) && sigismember(&found, SIGUSR1));
    CHECK(!sigismember(&found, SIGTERM) && !sigismember(&found, SIGCHLD));
    errno = error;
    return result;
}

int main(void) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    sigaddset(&blocked, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &blocked, NULL));
    check_waiting(&(struct waiting_call){.enter = enter});
}

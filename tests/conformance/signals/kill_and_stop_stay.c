// SIGKILL and SIGSTOP can be neither blocked nor handled.
#include <signal.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 80; ++round) {
        sigset_t all, mask;
        sigfillset(&all);
        CALL(sigprocmask(SIG_SETMASK, &all, NULL));
        spin(400000);
        CALL(sigprocmask(SIG_SETMASK, NULL, &mask));
        CHECK(!sigismember(&mask, SIGKILL) && !sigismember(&mask, SIGSTOP));
        CHECK(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGTRAP));
        sigemptyset(&all);
        CALL(sigprocmask(SIG_SETMASK, &all, NULL));
        CHECK(signal(SIGKILL, SIG_IGN) == SIG_ERR && errno == EINVAL);
        CHECK(signal(SIGSTOP, SIG_IGN) == SIG_ERR && errno == EINVAL);
    }
    printf("ok\n");
}

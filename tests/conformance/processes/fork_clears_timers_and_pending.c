// A child starts without its parent's pending signals, alarms and interval timers.
#include <signal.h>
#include <sys/time.h>

#include "child.h"

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    CALL(raise(SIGUSR1));
    const struct itimerval far = {.it_value = {5000, 0}, .it_interval = {7000, 0}};
    CALL(setitimer(ITIMER_REAL, &far, NULL));
    CALL(setitimer(ITIMER_PROF, &far, NULL));
    for (int round = 0; round < 50; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            sigset_t pending;
            CALL(sigpending(&pending));
            CHECK(!sigismember(&pending, SIGUSR1));
            struct itimerval now;
            CALL(getitimer(ITIMER_REAL, &now));
            CHECK(now.it_value.tv_sec == 0 && now.it_interval.tv_sec == 0);
            CALL(getitimer(ITIMER_PROF, &now));
            CHECK(now.it_value.tv_sec == 0);
            CALL(sigprocmask(SIG_BLOCK, NULL, &pending));
            CHECK(sigismember(&pending, SIGUSR1));
            spin(20000);
            _exit(0);
        }
        spin(60000);
        expect_exit(child, 0);
        sigset_t pending;
        CALL(sigpending(&pending));
        CHECK(sigismember(&pending, SIGUSR1));
        struct itimerval now;
        CALL(getitimer(ITIMER_REAL, &now));
        CHECK(now.it_value.tv_sec > 0 && now.it_interval.tv_sec == 7000);
    }
    puts("ok");
}

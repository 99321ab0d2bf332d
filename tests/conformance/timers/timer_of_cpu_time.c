// A timer on the process's CPU clock expires after the given processor time, and not before.
// known-fault: verify: a signal after processor time comes many times later
#include <signal.h>
#include <time.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    ++handled;
}

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    CALL(clock_gettime(clock, &now));
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(void) {
    CHECK(signal(SIGUSR1, count) != SIG_ERR);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    CALL(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer));
    for (int round = 1; round <= 8; ++round) {
        const int64_t start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        CALL(timer_settime(timer, 0, &(struct itimerspec){{0, 0}, {0, 3000000}}, NULL));
        while (handled < round) spin(5000);
        CHECK(now_ns(CLOCK_PROCESS_CPUTIME_ID) - start >= 3000000);
        struct itimerspec left;
        CALL(timer_gettime(timer, &left));
        CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
    }
    CALL(timer_delete(timer));
    printf("%d times\n", handled);
}

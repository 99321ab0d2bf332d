// A child has none of its parent's timers, and its own do not touch its parent's.
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

static void check_child(timer_t timer) {
    struct itimerval found;
    struct itimerspec left;
    CALL(getitimer(ITIMER_REAL, &found));
    CHECK(found.it_value.tv_sec == 0 && found.it_value.tv_usec == 0);
    CHECK(timer_gettime(timer, &left) == -1 && errno == EINVAL);
    CHECK(alarm(500) == 0);
    spin(50000);
    CHECK(alarm(0) > 0);
}

int main(void) {
    timer_t timer;
    struct itimerspec left;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    CALL(timer_create(CLOCK_MONOTONIC, &event, &timer));
    CALL(timer_settime(timer, 0, &(struct itimerspec){{0, 0}, {1000, 0}}, NULL));
    CHECK(alarm(1000) == 0);
    for (int round = 0; round < 20; ++round) {
        spin(100000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            check_child(timer);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CALL(timer_gettime(timer, &left));
        CHECK(left.it_value.tv_sec >= 900);
    }
    CHECK(alarm(0) >= 900);
    printf("ok\n");
}

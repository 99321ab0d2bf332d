// An interval timer sends SIGALRM again and again, never too early, until it is disarmed.
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "check.h"

enum { interval_us = 2000 };

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    CHECK(signal_number == SIGALRM);
    ++handled;
}

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    CALL(clock_gettime(clock, &now));
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(void) {
    CHECK(signal(SIGALRM, count) != SIG_ERR);
    const struct itimerval wanted = {{0, interval_us}, {0, interval_us}};
    struct itimerval found;
    const int64_t start = now_ns(CLOCK_MONOTONIC);
    CALL(setitimer(ITIMER_REAL, &wanted, NULL));
    while (handled < 20) {
        spin(20000);
        CALL(getitimer(ITIMER_REAL, &found));
        CHECK(found.it_interval.tv_usec == interval_us && found.it_value.tv_sec == 0);
        CHECK(found.it_value.tv_usec <= interval_us);
        const int seen = handled;
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= (int64_t)seen * interval_us * 1000);
    }
    CALL(setitimer(ITIMER_REAL, &(struct itimerval){0}, &found));
    const int seen = handled;
    spin(2000000);
    CHECK(handled == seen);
    printf("ok\n");
}

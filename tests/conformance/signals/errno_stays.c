// errno does not change between two calls of a program, whatever else happens.
#include <signal.h>
#include <sys/time.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    ++handled;
}

int main(void) {
    CHECK(signal(SIGALRM, count) != SIG_ERR);
    struct itimerval timer = {.it_value.tv_usec = 2000, .it_interval.tv_usec = 2000};
    CALL(setitimer(ITIMER_REAL, &timer, NULL));
    for (int round = 0; handled < 15; ++round) {
        errno = 1000 + round % 100;
        spin(300000);
        CHECK(errno == 1000 + round % 100);
        CHECK(close(-1) == -1 && errno == EBADF);
        spin(1000);
        CHECK(errno == EBADF);
    }
    CALL(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL));
    printf("ok\n");
}

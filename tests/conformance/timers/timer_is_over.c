// A timer that has expired once has no time left; a deleted timer does not exist.
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    ++handled;
}

int main(void) {
    CHECK(signal(SIGUSR2, count) != SIG_ERR);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct itimerspec left;
    for (int round = 1; round <= 40; ++round) {
        int timer;  // the kernel's id, which the C library does not know
        CALL(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
        struct itimerspec wanted = {{0, 0}, {1000, 0}};
        CALL(syscall(SYS_timer_settime, timer, 0, &wanted, NULL));
        spin(50000);
        CALL(syscall(SYS_timer_gettime, timer, &left));
        CHECK(left.it_value.tv_sec >= 900 && left.it_value.tv_sec < 1000);
        wanted.it_value = (struct timespec){1, 0};
        CALL(syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &wanted, &left));
        // The absolute time is long past.
        while (handled < round) spin(1000);
        CALL(syscall(SYS_timer_gettime, timer, &left));
        CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
        CALL(syscall(SYS_timer_delete, timer));
        CHECK(syscall(SYS_timer_delete, timer) == -1 && errno == EINVAL);
    }
    CHECK(handled == 40);
    printf("ok\n");
}

// An alarm stays set across exec, and POSIX timers are gone.
// arguments: 0 x
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

int main(int argument_count, char** arguments) {
    CHECK(argument_count == 3);
    const int execs = atoi(arguments[1]);
    struct itimerspec left;
    if (execs > 0) {
        const int old_timer = atoi(arguments[2]);
        CHECK(syscall(SYS_timer_gettime, old_timer, &left) == -1 && errno == EINVAL);
        const unsigned rest = alarm(0);
        CHECK(rest >= 900 && rest <= 1000);
    }
    if (execs == 20) {
        printf("%d times\n", execs);
        return 0;
    }
    spin(300000);
    int timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    CALL(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
    CHECK(alarm(1000) == 0);
    char next[16], name[16];
    snprintf(next, sizeof next, "%d", execs + 1);
    snprintf(name, sizeof name, "%d", timer);
    CALL(execl("/proc/self/exe", arguments[0], next, name, NULL));
}

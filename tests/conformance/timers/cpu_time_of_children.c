// Processor time of children is added to the times of the process that waits for them, then only.
// known-fault: attached: the process of which the fork server is born was a child
// leave-out: family: the processor time of children is that of their emulators
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    CALL(clock_gettime(clock, &now));
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t used_us(int who) {
    struct rusage usage;
    CALL(getrusage(who, &usage));
    return usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
}

int main(void) {
    for (int round = 0; round < 12; ++round) {
        const int64_t before_us = used_us(RUSAGE_CHILDREN);
        const pid_t child = CALL(fork());
        if (child == 0) {
            while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < 3000000) spin(10000);
            _exit(0);
        }
        spin(50000);
        siginfo_t info;
        CHECK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
        CHECK(used_us(RUSAGE_CHILDREN) == before_us);
        CHECK(waitpid(child, NULL, 0) == child);
        // The two times are rounded in different ways.
        CHECK(used_us(RUSAGE_CHILDREN) - before_us >= 2900);
    }
    printf("ok\n");
}

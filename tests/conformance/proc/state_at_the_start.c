// A program starts with its caller's mask, dispositions, limits, descriptors and environment.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "check.h"

static void show_signals(void) {
    sigset_t mask, pending;
    CALL(sigprocmask(SIG_BLOCK, NULL, &mask));
    CALL(sigpending(&pending));
    for (int number = 1; number < 65; ++number) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0) continue;
        printf("%d", (action.sa_handler == SIG_IGN) + 2 * sigismember(&mask, number) +
                         4 * sigismember(&pending, number));
    }
    puts(" signals");
}

int main(void) {
    show_signals();
    for (int kind = 0; kind < RLIM_NLIMITS; ++kind) {
        struct rlimit limit;
        CALL(getrlimit((__rlimit_resource_t)kind, &limit));
        printf("limit %d: %lu %lu\n", kind, limit.rlim_cur, limit.rlim_max);
    }
    for (int descriptor = 0; descriptor < 200; ++descriptor) {
        const int flags = fcntl(descriptor, F_GETFL);
        if (flags >= 0) printf("descriptor %d: %o\n", descriptor, flags);
    }
    for (char** variable = environ; *variable; ++variable)
        printf("%.*s\n", (int)strcspn(*variable, "="), *variable);
    int death_signal = -1;
    CALL(prctl(PR_GET_PDEATHSIG, &death_signal));
    printf("umask %o, nice %d, scheduler %d, slack %d, dumpable %d, reaper %d\n", umask(0),
           getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), prctl(PR_GET_TIMERSLACK),
           prctl(PR_GET_DUMPABLE), death_signal);
    // Exact mode switches address space randomization off, as its manual page says.
    printf("personality %x, no new privileges %d\n", personality(0xffffffff) & ~ADDR_NO_RANDOMIZE,
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    for (int round = 0; round < 50; ++round) spin(100000);
    struct rusage usage;
    CALL(getrusage(RUSAGE_CHILDREN, &usage));
    printf("faults of children: %ld\n", usage.ru_minflt);
}

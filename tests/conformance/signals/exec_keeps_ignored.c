// exec keeps mask, pending and ignored signals; handled ones get their default actions.
// arguments: 0
#include <signal.h>

#include "check.h"

static void never(int signal_number) {
    CHECK(signal_number == 0);
}

static void check_inherited(void) {
    struct sigaction found;
    CALL(sigaction(SIGUSR1, NULL, &found));
    CHECK(found.sa_handler == SIG_DFL);
    CALL(sigaction(SIGUSR2, NULL, &found));
    CHECK(found.sa_handler == SIG_IGN);
    sigset_t set;
    CALL(sigprocmask(SIG_SETMASK, NULL, &set));
    CHECK(sigismember(&set, SIGTERM) && !sigismember(&set, SIGINT));
    CALL(sigpending(&set));
    CHECK(sigismember(&set, SIGTERM) && !sigismember(&set, SIGINT));
}

int main(int argument_count, char** arguments) {
    CHECK(argument_count == 2);
    const int execs = atoi(arguments[1]);
    if (execs > 0) check_inherited();
    if (execs == 20) {
        printf("%d times\n", execs);
        return 0;
    }
    CHECK(signal(SIGUSR1, never) != SIG_ERR && signal(SIGUSR2, SIG_IGN) != SIG_ERR);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    if (execs == 0) CALL(raise(SIGTERM));
    spin(300000);
    char next[16];
    snprintf(next, sizeof next, "%d", execs + 1);
    CALL(execl("/proc/self/exe", arguments[0], next, NULL));
}

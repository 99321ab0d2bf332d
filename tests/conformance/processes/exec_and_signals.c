// exec resets handlers, and keeps ignored, blocked and pending signals.
#include <signal.h>

#include "child.h"

static void handle(int number) {
    (void)number;
}

static void behind_exec(void) {
    struct sigaction action;
    CALL(sigaction(SIGUSR1, NULL, &action));
    CHECK(action.sa_handler == SIG_DFL);
    CALL(sigaction(SIGUSR2, NULL, &action));
    CHECK(action.sa_handler == SIG_IGN);
    sigset_t set;
    CALL(sigprocmask(SIG_SETMASK, NULL, &set));
    for (int number = 1; number < 32; ++number)
        CHECK(sigismember(&set, number) == (number == SIGTERM || number == SIGWINCH));
    CALL(sigpending(&set));
    for (int number = 1; number < 32; ++number)
        CHECK(sigismember(&set, number) == (number == SIGTERM));
}

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        spin(30000);
        behind_exec();
        return 14;
    }
    for (int round = 0; round < 25; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            signal(SIGUSR1, handle);
            signal(SIGUSR2, SIG_IGN);
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGTERM);
            sigaddset(&set, SIGWINCH);
            CALL(sigprocmask(SIG_SETMASK, &set, NULL));
            CALL(raise(SIGTERM));
            spin(20000);
            execl("/proc/self/exe", "self", "again", NULL);
            CHECK(!"exec failed");
        }
        spin(60000);
        expect_exit(child, 14);
    }
    puts("ok");
}

// A child's stop and continuation send SIGCHLD, but not with SA_NOCLDSTOP.
#include <signal.h>

#include "child.h"

static void handle(int number) {
    (void)number;
}

static int next(const sigset_t* set) {
    siginfo_t info;
    CHECK(CALL(sigwaitinfo(set, &info)) == SIGCHLD);
    return info.si_code;
}

static int taken(const sigset_t* set) {
    siginfo_t info;
    const struct timespec wait = {0, 0};
    return sigtimedwait(set, &info, &wait) == SIGCHLD ? info.si_code : 0;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int round = 0; round < 30; ++round) {
        const int silent = round % 2;
        struct sigaction action = {.sa_handler = handle, .sa_flags = silent ? SA_NOCLDSTOP : 0};
        CALL(sigaction(SIGCHLD, &action, NULL));
        const pid_t child = CALL(fork());
        if (child == 0) spin_for_ever();
        int status;
        CALL(kill(child, SIGSTOP));
        CHECK(waitpid(child, &status, WUNTRACED) == child);
        CHECK((silent ? taken(&set) : next(&set)) == (silent ? 0 : CLD_STOPPED));
        spin(50000);
        CALL(kill(child, SIGCONT));
        CHECK(waitpid(child, &status, WCONTINUED) == child);
        CHECK((silent ? taken(&set) : next(&set)) == (silent ? 0 : CLD_CONTINUED));
        CALL(kill(child, SIGKILL));
        expect_killed(child, SIGKILL);
        CHECK(taken(&set) == CLD_KILLED);
        CHECK(taken(&set) == 0);
    }
    puts("ok");
}

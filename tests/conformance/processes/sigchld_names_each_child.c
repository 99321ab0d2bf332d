// Each child that ends separately sends one SIGCHLD, which has its id and its code.
#include <signal.h>

#include "child.h"

static volatile sig_atomic_t signals;
static volatile pid_t who;
static volatile int code;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    ++signals;
    who = info->si_pid;
    code = info->si_code == CLD_EXITED ? info->si_status : -1;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    CALL(sigaction(SIGCHLD, &action, NULL));
    sigset_t block, old;
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    for (int round = 0; round < 60; ++round) {
        CALL(sigprocmask(SIG_BLOCK, &block, &old));
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            _exit(round);
        }
        spin(30000);
        while (signals == round) sigsuspend(&old);
        CALL(sigprocmask(SIG_SETMASK, &old, NULL));
        CHECK(signals == round + 1);
        CHECK(who == child && code == round);
        expect_exit(child, round);
        spin(20000);
    }
    CHECK(signals == 60);
    puts("ok");
}

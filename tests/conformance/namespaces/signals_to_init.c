// From within its namespace an init gets only signals that it handles; from outside also others.
// leave-out: family: a traced init gets signals from within its namespace
#include "enter.h"

static volatile sig_atomic_t handled;

static void handle(int number) {
    (void)number;
    ++handled;
}

static void body(void) {
    CHECK(signal(SIGUSR1, handle) != SIG_ERR);
    CHECK(signal(SIGTERM, SIG_DFL) != SIG_ERR);
    for (int round = 0; round < 8; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(kill(1, SIGTERM));
            CALL(kill(1, SIGKILL));
            CALL(kill(1, SIGSTOP));
            CALL(kill(1, SIGUSR1));
            _exit(0);
        }
        spin(40000);
        expect_exit(child, 0);
        CHECK(handled == round + 1);
    }
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 5; ++round) {
        as_init(body);
        const pid_t outer = CALL(fork());
        if (outer == 0) {
            CALL(unshare(CLONE_NEWPID));
            const pid_t init = CALL(fork());
            if (init == 0) spin_for_ever();
            spin(60000);
            CALL(kill(init, SIGKILL));
            expect_killed(init, SIGKILL);
            _exit(0);
        }
        expect_exit(outer, 0);
    }
    puts("ok");
}

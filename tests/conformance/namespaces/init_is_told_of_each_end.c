// An init gets one SIGCHLD for each process that ends as its child, and no other.
#include "enter.h"

static void body(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int round = 0; round < 10; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(60000);
            _exit(52);
        }
        siginfo_t info;
        CHECK(CALL(sigwaitinfo(&set, &info)) == SIGCHLD);
        CHECK(info.si_pid == child && info.si_code == CLD_EXITED && info.si_status == 52);
        expect_exit(child, 52);
        spin(40000);
        const struct timespec now = {0, 0};
        CHECK(sigtimedwait(&set, &info, &now) == -1 && errno == EAGAIN);
    }
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 5; ++round) as_init(body);
    puts("ok");
}

// An init whose child works for long has only that child to wait for.
#include "enter.h"

static void body(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    const pid_t child = CALL(fork());
    if (child == 0) {
        for (int round = 0; round < 300; ++round) spin(100000);
        _exit(59);
    }
    siginfo_t info;
    CHECK(CALL(sigwaitinfo(&set, &info)) == SIGCHLD);
    CHECK(info.si_pid == child && info.si_status == 59);
    expect_exit(child, 59);
    expect_no_child();
    CHECK(kill(-1, 0) == -1 && errno == ESRCH);
}

int main(void) {
    enter_user_namespace(0);
    as_busy_init(body);
    puts("ok");
}

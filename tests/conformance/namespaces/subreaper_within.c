// A subreaper in a PID namespace takes orphans before the init does.
#include "enter.h"

static void body(void) {
    const pid_t reaper = CALL(fork());
    if (reaper == 0) {
        CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
        for (int round = 0; round < 5; ++round) {
            const pid_t middle = CALL(fork());
            if (middle == 0) {
                if (CALL(fork()) == 0) {
                    spin(40000);
                    _exit(58);
                }
                _exit(0);
            }
            expect_exit(middle, 0);
            int status;
            CALL(waitpid(-1, &status, 0));
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 58);
            expect_no_child();
        }
        _exit(0);
    }
    expect_exit(reaper, 0);
    expect_no_child();
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 8; ++round) as_init(body);
    puts("ok");
}

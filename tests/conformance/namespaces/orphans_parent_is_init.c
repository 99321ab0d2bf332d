// An orphan in a PID namespace sees process 1 as its parent.
#include "enter.h"

static void body(void) {
    for (int round = 0; round < 4; ++round) {
        const pid_t middle = CALL(fork());
        if (middle == 0) {
            const pid_t here = getpid();
            if (CALL(fork()) == 0) {
                while (getppid() == here) spin(20000);
                CHECK(getppid() == 1);
                _exit(55);
            }
            spin(30000);
            _exit(0);
        }
        expect_exit(middle, 0);
        int status;
        CALL(waitpid(-1, &status, 0));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 55);
        expect_no_child();
    }
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 8; ++round) as_init(body);
    puts("ok");
}

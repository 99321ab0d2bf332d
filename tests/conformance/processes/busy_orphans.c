// A subreaper inherits only its grandchildren that work for long, one by one.
#include "child.h"

int main(void) {
    CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
    for (int round = 0; round < 6; ++round) {
        const pid_t middle = CALL(fork());
        if (middle == 0) {
            if (CALL(fork()) == 0) {
                for (int part = 0; part < 80; ++part) spin(100000);
                _exit(61);
            }
            _exit(60);
        }
        expect_exit(middle, 60);
        int status;
        CALL(waitpid(-1, &status, __WALL));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 61);
        expect_no_child();
    }
    puts("ok");
}

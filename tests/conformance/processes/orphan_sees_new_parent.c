// A child whose parent ends sees its new parent by getppid.
#include <sys/prctl.h>

#include "child.h"

int main(void) {
    CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
    const pid_t self = getpid();
    for (int round = 0; round < 30; ++round) {
        const pid_t middle = CALL(fork());
        if (middle == 0) {
            const pid_t here = getpid();
            const pid_t orphan = CALL(fork());
            if (orphan == 0) {
                while (getppid() == here) spin(20000);
                CHECK(getppid() == self);
                _exit(33);
            }
            spin(40000);
            _exit(0);
        }
        expect_exit(middle, 0);
        int status = 0;
        CALL(waitpid(-1, &status, 0));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 33);
    }
    expect_no_child();
    puts("ok");
}

// A subreaper inherits the children of its dead descendants, and only those.
#include <sys/prctl.h>

#include "child.h"

int main(void) {
    CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
    const pid_t self = getpid();
    for (int round = 0; round < 30; ++round) {
        int tell[2];
        CALL(pipe(tell));
        const pid_t middle = CALL(fork());
        if (middle == 0) {
            const pid_t orphan = CALL(fork());
            if (orphan == 0) {
                char byte;
                close(tell[1]);
                CHECK(read(tell[0], &byte, 1) == 1);
                spin(20000);
                CHECK(getppid() == self);
                _exit(32);
            }
            spin(20000);
            _exit(31);
        }
        expect_exit(middle, 31);
        spin(30000);
        CHECK(waitpid(-1, NULL, WNOHANG) == 0);
        CHECK(write(tell[1], "x", 1) == 1);
        int status = 0;
        const pid_t orphan = CALL(waitpid(-1, &status, 0));
        CHECK(orphan != middle && WIFEXITED(status) && WEXITSTATUS(status) == 32);
        expect_no_child();
        close(tell[0]);
        close(tell[1]);
    }
    puts("ok");
}

// waitpid(-PGID) and waitpid(0) take only children of the given group.
#include "child.h"

int main(void) {
    for (int round = 0; round < 30; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t same = CALL(fork());
        if (same == 0) _exit(1);
        const pid_t other = CALL(fork());
        if (other == 0) {
            CALL(setpgid(0, 0));
            CHECK(write(ready[1], "x", 1) == 1);
            _exit(2);
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        spin(60000);
        int status = 0;
        CHECK(waitpid(-other, &status, 0) == other);
        CHECK(WEXITSTATUS(status) == 2);
        CHECK(waitpid(-other, &status, 0) == -1 && errno == ECHILD);
        siginfo_t info = {0};
        CALL(waitid(P_PGID, 0, &info, WEXITED));
        CHECK(info.si_pid == same);
        close(ready[0]);
        close(ready[1]);
    }
    expect_no_child();
    puts("ok");
}

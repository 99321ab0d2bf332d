// setns with a pidfd joins several namespaces of that process at once.
#include <sys/syscall.h>

#include "enter.h"

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 20; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t other = CALL(fork());
        if (other == 0) {
            CALL(unshare(CLONE_NEWUTS | CLONE_NEWIPC));
            CALL(sethostname("joined", 6));
            CHECK(write(ready[1], "x", 1) == 1);
            sleep_for_ever();
        }
        char byte, name[64] = {0};
        CHECK(read(ready[0], &byte, 1) == 1);
        const pid_t joins = CALL(fork());
        if (joins == 0) {
            const int descriptor = (int)syscall(SYS_pidfd_open, other, 0);
            if (descriptor < 0 || setns(descriptor, CLONE_NEWUTS | CLONE_NEWIPC) != 0)
                _exit(status_skipped);
            spin(50000);
            CALL(gethostname(name, sizeof name - 1));
            _exit(strcmp(name, "joined") == 0 ? 0 : 1);
        }
        spin(50000);
        int status;
        CHECK(waitpid(joins, &status, 0) == joins);
        CALL(kill(other, SIGKILL));
        expect_killed(other, SIGKILL);
        if (WEXITSTATUS(status) == status_skipped) skip("no setns by pidfd");
        CHECK(status == 0);
        CALL(gethostname(name, sizeof name - 1));
        CHECK(strcmp(name, "joined") != 0);
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
    puts("ok");
}

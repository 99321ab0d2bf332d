// A process that becomes another user cannot go back, and keeps what it has open.
#include <fcntl.h>
#include <grp.h>

#include "child.h"

int main(void) {
    if (geteuid() != 0) skip("not root");
    for (int round = 0; round < 25; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0)
                _exit(status_skipped);
            if (setresuid(65534, 65534, 65534) != 0) _exit(status_skipped);
            for (int look = 0; look < 4; ++look) {
                spin(30000);
                CHECK(getuid() == 65534 && geteuid() == 65534 && getgid() == 65534);
                CHECK(setuid(0) == -1 && errno == EPERM);
            }
            const pid_t inner = CALL(fork());
            if (inner == 0) _exit(getuid() == 65534 ? 0 : 1);
            expect_exit(inner, 0);
            _exit(71);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == status_skipped) skip("no other user");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 71);
    }
    puts("ok");
}

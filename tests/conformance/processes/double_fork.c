// After a daemon's double fork the grandchild has a session of its own and a new parent.
#include <sys/prctl.h>

#include "child.h"

int main(void) {
    CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
    for (int round = 0; round < 30; ++round) {
        int tell[2];
        CALL(pipe(tell));
        const pid_t first = CALL(fork());
        if (first == 0) {
            const pid_t session = CALL(setsid());
            CHECK(session == getpid());
            const pid_t second = CALL(fork());
            if (second == 0) {
                CHECK(getsid(0) == session && getpid() != session);
                spin(40000);
                const pid_t here = getpid();
                CHECK(write(tell[1], &here, sizeof here) == sizeof here);
                _exit(38);
            }
            _exit(39);
        }
        expect_exit(first, 39);
        pid_t daemon_id = 0;
        CHECK(read(tell[0], &daemon_id, sizeof daemon_id) == sizeof daemon_id);
        spin(30000);
        expect_exit(daemon_id, 38);
        close(tell[0]);
        close(tell[1]);
    }
    expect_no_child();
    puts("ok");
}

// When its leader ends, a session's foreground group gets SIGHUP.
#include "pty.h"

int main(void) {
    CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
    for (int round = 0; round < 25; ++round) {
        const struct terminal terminal = open_terminal();
        int ready[2];
        CALL(pipe(ready));
        const pid_t leader = CALL(fork());
        if (leader == 0) {
            CHECK(signal(SIGTTOU, SIG_IGN) != SIG_ERR);
            CHECK(signal(SIGHUP, SIG_DFL) != SIG_ERR);
            lead_session(terminal);
            const pid_t job = CALL(fork());
            if (job == 0) {
                CALL(setpgid(0, 0));
                CALL(tcsetpgrp(terminal.slave, getpid()));
                CHECK(write(ready[1], "x", 1) == 1);
                for (;;) spin(50000);
            }
            char byte;
            CHECK(read(ready[0], &byte, 1) == 1);
            spin(50000);
            _exit(86);
        }
        expect_exit(leader, 86);
        int status;
        CALL(waitpid(-1, &status, 0));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
        close_terminal(terminal);
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
    puts("ok");
}

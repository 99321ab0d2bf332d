// Control-C sends SIGINT to the foreground group alone, and flushes what was typed.
#include "pty.h"

int main(void) {
    for (int round = 0; round < 20; ++round) {
        const struct terminal terminal = open_terminal();
        int ready[2];
        CALL(pipe(ready));
        const pid_t leader = CALL(fork());
        if (leader == 0) {
            CHECK(signal(SIGTTOU, SIG_IGN) != SIG_ERR);
            lead_session(terminal);
            const pid_t job = CALL(fork());
            if (job == 0) {
                CALL(setpgid(0, 0));
                CALL(tcsetpgrp(terminal.slave, getpid()));
                CHECK(signal(SIGINT, SIG_DFL) != SIG_ERR);
                CHECK(write(ready[1], "x", 1) == 1);
                spin_for_ever();
            }
            expect_killed(job, SIGINT);
            sigset_t pending;
            CALL(sigpending(&pending));
            CHECK(!sigismember(&pending, SIGINT));
            _exit(81);
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        spin(60000);
        CHECK(write(terminal.master, "typed\003", 6) == 6);
        expect_exit(leader, 81);
        close_terminal(terminal);
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
    puts("ok");
}

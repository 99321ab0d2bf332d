// When the master closes, the session leader gets SIGHUP and SIGCONT, and reads return 0.
#include "pty.h"

static void session(struct terminal terminal, int ready) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCONT);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    lead_session(terminal);
    CALL(close(terminal.master));
    CHECK(write(ready, "x", 1) == 1);
    spin(40000);
    int seen = 0;
    for (int i = 0; i < 2; ++i) seen |= 1 << CALL(sigwaitinfo(&set, NULL));
    CHECK(seen == (1 << SIGHUP | 1 << SIGCONT));
    char byte;
    CHECK(read(terminal.slave, &byte, 1) == 0);
    CHECK(write(terminal.slave, "x", 1) == -1 && errno == EIO);
    _exit(85);
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        const struct terminal terminal = open_terminal();
        int ready[2];
        CALL(pipe(ready));
        const pid_t leader = CALL(fork());
        if (leader == 0) session(terminal, ready[1]);
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        spin(60000);
        CALL(close(terminal.master));
        expect_exit(leader, 85);
        CALL(close(terminal.slave));
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
    puts("ok");
}

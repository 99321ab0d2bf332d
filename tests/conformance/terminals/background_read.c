// A read in the background stops the job by SIGTTIN, and fails with EIO if that is ignored.
#include "pty.h"

static void session(struct terminal terminal) {
    lead_session(terminal);
    const pid_t stops = CALL(fork());
    if (stops == 0) {
        char byte;
        CALL(setpgid(0, 0));
        CHECK(signal(SIGTTIN, SIG_DFL) != SIG_ERR);
        CHECK(read(terminal.slave, &byte, 1) == -2);
    }
    int status;
    CHECK(waitpid(stops, &status, WUNTRACED) == stops);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN);
    CALL(kill(stops, SIGKILL));
    expect_killed(stops, SIGKILL);
    const pid_t fails = CALL(fork());
    if (fails == 0) {
        char byte;
        CALL(setpgid(0, 0));
        CHECK(signal(SIGTTIN, SIG_IGN) != SIG_ERR);
        spin(20000);
        CHECK(read(terminal.slave, &byte, 1) == -1 && errno == EIO);
        _exit(0);
    }
    expect_exit(fails, 0);
    _exit(83);
}

int main(void) {
    for (int round = 0; round < 20; ++round) {
        const struct terminal terminal = open_terminal();
        const pid_t leader = CALL(fork());
        if (leader == 0) session(terminal);
        spin(80000);
        expect_exit(leader, 83);
        close_terminal(terminal);
    }
    puts("ok");
}

// A background job may write unless TOSTOP is set; then SIGTTOU stops it, as for settings.
#include "pty.h"

static void expect_stop(struct terminal terminal, int settings) {
    const pid_t child = CALL(fork());
    if (child == 0) {
        CALL(setpgid(0, 0));
        CHECK(signal(SIGTTOU, SIG_DFL) != SIG_ERR);
        struct termios now;
        CALL(tcgetattr(terminal.slave, &now));
        if (settings)
            CHECK(tcsetattr(terminal.slave, TCSANOW, &now) == -2);
        else
            CHECK(write(terminal.slave, "x", 1) == -2);
    }
    int status;
    CHECK(waitpid(child, &status, WUNTRACED) == child);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTOU);
    spin(30000);
    CALL(kill(child, SIGKILL));
    expect_killed(child, SIGKILL);
}

static void session(struct terminal terminal) {
    lead_session(terminal);
    const pid_t writes = CALL(fork());
    if (writes == 0) {
        CALL(setpgid(0, 0));
        CHECK(write(terminal.slave, "free", 4) == 4);
        _exit(0);
    }
    expect_exit(writes, 0);
    struct termios now;
    CALL(tcgetattr(terminal.slave, &now));
    now.c_lflag |= TOSTOP;
    CALL(tcsetattr(terminal.slave, TCSANOW, &now));
    expect_stop(terminal, 0);
    expect_stop(terminal, 1);
    _exit(84);
}

int main(void) {
    for (int round = 0; round < 20; ++round) {
        const struct terminal terminal = open_terminal();
        const pid_t leader = CALL(fork());
        if (leader == 0) session(terminal);
        spin(60000);
        expect_exit(leader, 84);
        expect_text(terminal.master, "free", 4);
        close_terminal(terminal);
    }
    puts("ok");
}

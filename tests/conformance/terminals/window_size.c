// A change of the window's size sends SIGWINCH to the foreground group, once for each change.
#include "pty.h"

int main(void) {
    const struct terminal terminal = open_terminal();
    int ready[2];
    CALL(pipe(ready));
    const pid_t child = CALL(fork());
    if (child == 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGWINCH);
        CALL(sigprocmask(SIG_BLOCK, &set, NULL));
        lead_session(terminal);
        for (int round = 1; round <= 60; ++round) {
            CHECK(write(ready[1], "x", 1) == 1);
            CHECK(CALL(sigwaitinfo(&set, NULL)) == SIGWINCH);
            struct winsize size;
            CALL(ioctl(terminal.slave, TIOCGWINSZ, &size));
            CHECK(size.ws_row == round && size.ws_col == round * 2);
            spin(40000);
            const struct timespec now = {0, 0};
            CHECK(sigtimedwait(&set, NULL, &now) == -1 && errno == EAGAIN);
        }
        _exit(0);
    }
    CALL(close(ready[1]));
    char byte;
    for (int round = 1; round <= 60; ++round) {
        if (read(ready[0], &byte, 1) != 1) break;
        const struct winsize size = {.ws_row = (unsigned short)round,
                                     .ws_col = (unsigned short)(round * 2)};
        spin(30000);
        CALL(ioctl(terminal.master, TIOCSWINSZ, &size));
        CALL(ioctl(terminal.master, TIOCSWINSZ, &size));
    }
    expect_exit(child, 0);
    close_terminal(terminal);
    puts("ok");
}

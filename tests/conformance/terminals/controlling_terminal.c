// A controlling terminal opens as /dev/tty, and has its session and foreground group.
#include "pty.h"

int main(void) {
    for (int round = 0; round < 30; ++round) {
        const struct terminal terminal = open_terminal();
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(setsid());
            CHECK(open("/dev/tty", O_RDWR) == -1 && errno == ENXIO);
            CALL(ioctl(terminal.slave, TIOCSCTTY, 0));
            spin(40000);
            const int tty = CALL(open("/dev/tty", O_RDWR));
            CHECK(tcgetsid(tty) == getpid() && tcgetpgrp(tty) == getpid());
            CHECK(isatty(tty) == 1);
            char name[64], other[64];
            CHECK(!ttyname_r(terminal.slave, name, sizeof name));
            CHECK(!ptsname_r(terminal.master, other, sizeof other) && strcmp(name, other) == 0);
            CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
            CALL(ioctl(tty, TIOCNOTTY));
            CHECK(open("/dev/tty", O_RDWR) == -1 && errno == ENXIO);
            _exit(0);
        }
        spin(50000);
        expect_exit(child, 0);
        close_terminal(terminal);
    }
    puts("ok");
}

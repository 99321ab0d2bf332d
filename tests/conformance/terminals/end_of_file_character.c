// Control-D ends a read, with the bytes so far, or with none at a line's start.
#include "pty.h"

int main(void) {
    const struct terminal terminal = open_terminal();
    struct termios quiet;
    CALL(tcgetattr(terminal.slave, &quiet));
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    CALL(tcsetattr(terminal.slave, TCSANOW, &quiet));
    for (int round = 0; round < 60; ++round) {
        char text[16];
        CHECK(write(terminal.master, "half\004", 5) == 5);
        spin(40000);
        CHECK(read(terminal.slave, text, sizeof text) == 4 && memcmp(text, "half", 4) == 0);
        CHECK(write(terminal.master, "\004", 1) == 1);
        spin(30000);
        CHECK(read(terminal.slave, text, sizeof text) == 0);
    }
    close_terminal(terminal);
    puts("ok");
}

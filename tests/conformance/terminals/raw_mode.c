// A terminal in raw mode passes each byte unchanged in both directions, and keeps its settings.
#include "pty.h"

int main(void) {
    const struct terminal terminal = open_terminal();
    struct termios raw, now;
    CALL(tcgetattr(terminal.slave, &raw));
    cfmakeraw(&raw);
    CALL(tcsetattr(terminal.slave, TCSANOW, &raw));
    for (int round = 0; round < 60; ++round) {
        const char text[5] = {3, 26, (char)(round + 1), '\r', 4};
        CHECK(write(terminal.master, text, 5) == 5);
        spin(60000);
        expect_text(terminal.slave, text, 5);
        CHECK(write(terminal.slave, text, 5) == 5);
        expect_text(terminal.master, text, 5);
        CALL(tcgetattr(terminal.slave, &now));
        CHECK(now.c_lflag == raw.c_lflag && now.c_iflag == raw.c_iflag &&
              now.c_oflag == raw.c_oflag);
    }
    close_terminal(terminal);
    puts("ok");
}

// In packet mode the master's reads begin with a byte that describes the event.
#include "pty.h"

int main(void) {
    const struct terminal terminal = open_terminal();
    const int on = 1;
    CALL(ioctl(terminal.master, TIOCPKT, &on));
    for (int round = 0; round < 60; ++round) {
        char text[32];
        CHECK(write(terminal.slave, "abc", 3) == 3);
        spin(40000);
        CHECK(read(terminal.master, text, sizeof text) == 4);
        CHECK(text[0] == TIOCPKT_DATA && memcmp(text + 1, "abc", 3) == 0);
        CALL(tcflush(terminal.slave, TCIFLUSH));
        spin(30000);
        CHECK(read(terminal.master, text, sizeof text) == 1);
        CHECK(text[0] & TIOCPKT_FLUSHREAD);
    }
    close_terminal(terminal);
    puts("ok");
}

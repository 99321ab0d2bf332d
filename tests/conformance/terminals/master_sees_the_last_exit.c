// The master of a terminal reads EIO when the only process with its slave has exited.
#include "pty.h"

int main(void) {
    for (int round = 0; round < 40; ++round) {
        const struct terminal terminal = open_terminal();
        const pid_t child = CALL(fork());
        if (child == 0) {
            lead_session(terminal);
            for (int part = 0; part < 4; ++part) spin(20000);
            CHECK(write(terminal.slave, "end", 3) == 3);
            _exit(0);
        }
        CALL(close(terminal.slave));
        expect_exit(child, 0);
        expect_text(terminal.master, "end", 3);
        char byte;
        CALL(fcntl(terminal.master, F_SETFL, O_NONBLOCK));
        CHECK(read(terminal.master, &byte, 1) == -1 && errno == EIO);
        CALL(close(terminal.master));
    }
    puts("ok");
}

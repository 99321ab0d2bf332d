// When the only slave is closed, the master reads what was written, and then EIO.
#include <poll.h>

#include "pty.h"

int main(void) {
    for (int round = 0; round < 100; ++round) {
        const struct terminal terminal = open_terminal();
        CHECK(write(terminal.slave, "last", 4) == 4);
        spin(70000);
        CALL(close(terminal.slave));
        struct pollfd one = {terminal.master, POLLIN, 0};
        CHECK(poll(&one, 1, 0) == 1 && (one.revents & POLLHUP));
        expect_text(terminal.master, "last", 4);
        char byte;
        CALL(fcntl(terminal.master, F_SETFL, O_NONBLOCK));
        CHECK(read(terminal.master, &byte, 1) == -1 && errno == EIO);
        CALL(close(terminal.master));
    }
    puts("ok");
}

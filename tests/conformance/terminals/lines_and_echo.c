// A terminal gives its reader whole lines with erasures applied, and echoes what is typed.
#include "pty.h"

int main(void) {
    const struct terminal terminal = open_terminal();
    for (int round = 0; round < 60; ++round) {
        CHECK(write(terminal.master, "ab\177c\n", 5) == 5);
        spin(60000);
        expect_text(terminal.slave, "ac\n", 3);
        expect_text(terminal.master, "ab\b \bc\r\n", 8);
        CHECK(write(terminal.slave, "out\n", 4) == 4);
        expect_text(terminal.master, "out\r\n", 5);
    }
    close_terminal(terminal);
    puts("ok");
}

// A raw read waits for VMIN bytes; with VMIN 0 and VTIME 0 it never waits.
#include <pthread.h>

#include "pty.h"

static struct terminal terminal;

static void* types(void* argument) {
    (void)argument;
    for (int i = 0; i < 3; ++i) {
        CHECK(write(terminal.master, "xyz" + i, 1) == 1);
        spin(40000);
    }
    return NULL;
}

int main(void) {
    terminal = open_terminal();
    struct termios raw;
    CALL(tcgetattr(terminal.slave, &raw));
    cfmakeraw(&raw);
    for (int round = 0; round < 40; ++round) {
        char text[8];
        raw.c_cc[VTIME] = 0;
        raw.c_cc[VMIN] = 3;
        CALL(tcsetattr(terminal.slave, TCSANOW, &raw));
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, types, NULL));
        CHECK(read(terminal.slave, text, sizeof text) == 3 && memcmp(text, "xyz", 3) == 0);
        CHECK(!pthread_join(thread, NULL));
        raw.c_cc[VMIN] = 0;
        CALL(tcsetattr(terminal.slave, TCSANOW, &raw));
        spin(20000);
        CHECK(read(terminal.slave, text, sizeof text) == 0);
    }
    close_terminal(terminal);
    puts("ok");
}

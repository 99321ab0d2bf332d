// If SIGCHLD is ignored, wait blocks until all children have ended, and fails with ECHILD.
#include <signal.h>

#include "child.h"

int main(void) {
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    for (int round = 0; round < 40; ++round) {
        int ends[2];
        CALL(pipe(ends));
        for (int i = 0; i < 3; ++i)
            if (CALL(fork()) == 0) {
                spin(30000);
                CHECK(write(ends[1], "x", 1) == 1);
                _exit(1);
            }
        CHECK(wait(NULL) == -1 && errno == ECHILD);
        char text[8];
        CHECK(read(ends[0], text, sizeof text) == 3);
        spin(30000);
        close(ends[0]);
        close(ends[1]);
    }
    puts("ok");
}

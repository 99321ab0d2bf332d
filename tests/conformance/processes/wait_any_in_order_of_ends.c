// wait() returns every child once, in the order of their ends, and then fails with ECHILD.
#include "child.h"

enum { children = 5 };

int main(void) {
    for (int round = 0; round < 15; ++round) {
        int gates[children][2];
        pid_t pids[children];
        for (int i = 0; i < children; ++i) {
            CALL(pipe(gates[i]));
            pids[i] = CALL(fork());
            if (pids[i] == 0) {
                char byte;
                CHECK(read(gates[i][0], &byte, 1) == 1);
                spin(20000);
                _exit(10 + i);
            }
        }
        for (int i = 0; i < children; ++i) {
            const int which = (i * 3 + round) % children;
            CHECK(write(gates[which][1], "x", 1) == 1);
            spin(30000);
            int status = 0;
            CHECK(wait(&status) == pids[which]);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 10 + which);
        }
        CHECK(wait(NULL) == -1);
        CHECK(errno == ECHILD);
        for (int i = 0; i < children; ++i) {
            close(gates[i][0]);
            close(gates[i][1]);
        }
    }
    puts("ok");
}

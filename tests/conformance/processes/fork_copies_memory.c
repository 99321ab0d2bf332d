// After a fork, parent and child do not see each other's writes.
#include "child.h"

static volatile int shared = 1;

int main(void) {
    for (int round = 0; round < 60; ++round) {
        shared = round;
        int go[2];
        CALL(pipe(go));
        const pid_t child = CALL(fork());
        if (child == 0) {
            char byte;
            CHECK(read(go[0], &byte, 1) == 1);
            CHECK(shared == round);
            shared = -7;
            spin(20000);
            CHECK(shared == -7);
            _exit(round);
        }
        shared = 1000 + round;
        CHECK(write(go[1], "x", 1) == 1);
        spin(60000);
        expect_exit(child, round);
        CHECK(shared == 1000 + round);
        close(go[0]);
        close(go[1]);
    }
    puts("ok");
}

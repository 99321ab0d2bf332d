// A process group whose only member works for long has no other member, and ends with it.
#include "child.h"

int main(void) {
    for (int round = 0; round < 8; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(setpgid(0, 0));
            CHECK(write(ready[1], "x", 1) == 1);
            for (int part = 0; part < 80; ++part) spin(100000);
            _exit(62);
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        expect_exit(child, 62);
        CHECK(killpg(child, 0) == -1 && errno == ESRCH);
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
    puts("ok");
}

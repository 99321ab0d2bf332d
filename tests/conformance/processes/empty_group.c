// A process group ends with its only member, and never has another process in it.
#include <signal.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 40; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(setpgid(0, 0));
            CHECK(write(ready[1], "x", 1) == 1);
            spin_for_ever();
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        spin(80000);
        CALL(killpg(child, 0));
        CALL(killpg(child, SIGKILL));
        expect_killed(child, SIGKILL);
        CHECK(killpg(child, 0) == -1 && errno == ESRCH);
        close(ready[0]);
        close(ready[1]);
    }
    puts("ok");
}

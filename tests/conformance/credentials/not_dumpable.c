// A process that is not dumpable stays so, runs on, and forks children that are not dumpable.
#include "child.h"

int main(void) {
    CALL(prctl(PR_SET_DUMPABLE, 0));
    for (int round = 0; round < 100; ++round) {
        spin(80000);
        CHECK(prctl(PR_GET_DUMPABLE) == 0);
        if (round % 5) continue;
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            _exit(prctl(PR_GET_DUMPABLE) == 0 ? 0 : 1);
        }
        expect_exit(child, 0);
        expect_no_child();
    }
    puts("ok");
}

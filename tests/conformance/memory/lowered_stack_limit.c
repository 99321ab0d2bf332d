// A stack limit that is lowered during the run holds at once: growth beyond it faults.
#include <sys/resource.h>

#include "child.h"

static int recurse(int depth) {
    volatile char frame[4000];
    frame[0] = (char)depth;
    return depth == 0 ? 0 : recurse(depth - 1) + frame[0] * 0;
}

int main(void) {
    for (int round = 0; round < 30; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            const struct rlimit core = {0, 0};
            CALL(setrlimit(RLIMIT_CORE, &core));
            const struct rlimit small = {400 * 1024, 400 * 1024};
            CALL(setrlimit(RLIMIT_STACK, &small));
            spin(20000);
            CHECK(recurse(20) == 0);
            spin(20000);
            recurse(1000);
            _exit(0);
        }
        spin(60000);
        expect_killed(child, SIGSEGV);
    }
    puts("ok");
}

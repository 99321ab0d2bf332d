// prlimit reads and changes the limits of a child, and leaves the caller's own.
#include <sys/resource.h>

#include "child.h"

int main(void) {
    struct rlimit own, now;
    CALL(getrlimit(RLIMIT_NOFILE, &own));
    if (own.rlim_cur < 50) skip("a small limit of descriptors");
    for (int round = 0; round < 40; ++round) {
        int gate[2];
        CALL(pipe(gate));
        const pid_t child = CALL(fork());
        if (child == 0) {
            char byte;
            CHECK(read(gate[0], &byte, 1) == 1);
            CALL(getrlimit(RLIMIT_NOFILE, &now));
            _exit(now.rlim_cur == 40 ? 0 : 1);
        }
        struct rlimit less = {40, own.rlim_max}, before;
        spin(50000);
        CALL(prlimit(child, RLIMIT_NOFILE, &less, &before));
        CHECK(before.rlim_cur == own.rlim_cur);
        CHECK(write(gate[1], "x", 1) == 1);
        expect_exit(child, 0);
        CALL(getrlimit(RLIMIT_NOFILE, &now));
        CHECK(now.rlim_cur == own.rlim_cur);
        CALL(close(gate[0]));
        CALL(close(gate[1]));
    }
    puts("ok");
}

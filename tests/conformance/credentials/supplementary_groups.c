// Supplementary groups stay as set, in their order, and are inherited.
#include <grp.h>

#include "child.h"

int main(void) {
    if (geteuid() != 0) skip("not root");
    for (int round = 0; round < 40; ++round) {
        gid_t groups[5], now[8];
        for (int i = 0; i < 5; ++i) groups[i] = (gid_t)(1000 + i * 7 + round);
        if (setgroups(5, groups) != 0) skip("no supplementary groups");
        spin(50000);
        CHECK(getgroups(8, now) == 5 && memcmp(now, groups, sizeof groups) == 0);
        const pid_t child = CALL(fork());
        if (child == 0) _exit(getgroups(8, now) == 5 && now[4] == groups[4] ? 0 : 1);
        spin(30000);
        expect_exit(child, 0);
    }
    puts("ok");
}

// The first child after unshare(CLONE_NEWPID) is process 1, and has no parent there.
#include "enter.h"

static void body(void) {
    CHECK(getpid() == 1 && getppid() == 0);
    spin(50000);
    CHECK(getpid() == 1 && getppid() == 0);
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 30; ++round) {
        as_init(body);
        spin(30000);
    }
    puts("ok");
}

// The first child of a process that works after unshare(CLONE_NEWPID) is process 1.
#include "enter.h"

static void body(void) {
    for (int round = 0; round < 100; ++round) {
        spin(100000);
        CHECK(getpid() == 1 && getppid() == 0);
    }
}

int main(void) {
    enter_user_namespace(0);
    as_busy_init(body);
    puts("ok");
}

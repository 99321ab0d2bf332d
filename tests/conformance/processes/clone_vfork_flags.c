// clone(CLONE_VM | CLONE_VFORK) suspends the caller until the child has ended.
#include <sched.h>

#include "child.h"

static volatile int steps;
_Alignas(16) static char stack[32768];

static int body(void* argument) {
    (void)argument;
    for (int i = 0; i < 4; ++i) {
        spin(20000);
        ++steps;
    }
    return 12;
}

int main(void) {
    for (int round = 0; round < 50; ++round) {
        steps = 0;
        const pid_t child =
            CALL(clone(body, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
        CHECK(steps == 4);
        spin(20000);
        expect_exit(child, 12);
    }
    expect_no_child();
    puts("ok");
}

// A process made by clone(CLONE_VM) shares its parent's memory, and ends independently.
// diverges: its child writes to the same memory
#include <sched.h>
#include <sys/syscall.h>

#include "child.h"

static volatile int from_child;
_Alignas(16) static char stack[32768];

static int body(void* argument) {
    spin(50000);
    from_child = *(int*)argument + 1;
    return (int)syscall(SYS_getppid) == 0;
}

int main(void) {
    const pid_t self = getpid();
    for (int round = 0; round < 60; ++round) {
        from_child = -1;
        const pid_t child = CALL(clone(body, stack + sizeof stack, CLONE_VM | SIGCHLD, &round));
        CHECK(child != self);
        expect_exit(child, 0);
        CHECK(from_child == round + 1);
        CHECK(getpid() == self);
    }
    puts("ok");
}

// With CLONE_SIGHAND a handler that the child sets is the parent's as well.
#include <sched.h>
#include <signal.h>

#include "child.h"

static volatile int calls;
_Alignas(16) static char stack[32768];

static void handle(int number) {
    (void)number;
    ++calls;
}

static int body(void* argument) {
    (void)argument;
    spin(20000);
    CHECK(signal(SIGUSR1, handle) == SIG_IGN);
    return 0;
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
        const pid_t child =
            CALL(clone(body, stack + sizeof stack, CLONE_VM | CLONE_SIGHAND | SIGCHLD, NULL));
        expect_exit(child, 0);
        spin(50000);
        CALL(raise(SIGUSR1));
        CHECK(calls == round + 1);
    }
    puts("ok");
}

// With SS_AUTODISARM the alternate stack is off during a handler on it, and on again afterwards.
#include <signal.h>

#include "check.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1 << 31)
#endif

enum { stack_bytes = 65536 };

static char stack[stack_bytes];
static volatile sig_atomic_t handled;

static void on_stack(int signal_number) {
    stack_t found;
    (void)signal_number;
    CALL(sigaltstack(NULL, &found));
    CHECK(found.ss_flags == SS_DISABLE);
    spin(160000);
    ++handled;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
    CALL(sigaction(SIGUSR1, &action, NULL));
    stack_t wanted = {.ss_sp = stack, .ss_size = stack_bytes, .ss_flags = (int)SS_AUTODISARM};
    stack_t found;
    CALL(sigaltstack(&wanted, NULL));
    for (int round = 1; round <= 100; ++round) {
        spin(320000);
        CALL(raise(SIGUSR1));
        CHECK(handled == round);
        CALL(sigaltstack(NULL, &found));
        CHECK(found.ss_flags == (int)SS_AUTODISARM && found.ss_sp == stack);
    }
    printf("ok\n");
}

// A handler with SA_ONSTACK runs on the alternate stack, which cannot be replaced meanwhile.
#include <signal.h>

#include "check.h"

enum { stack_bytes = 65536 };

static char stack[stack_bytes];
static volatile sig_atomic_t handled;

static void on_stack(int signal_number) {
    char local;
    (void)signal_number;
    CHECK(&local > stack && &local < stack + stack_bytes);
    stack_t found, other = {.ss_sp = stack, .ss_size = stack_bytes};
    CALL(sigaltstack(NULL, &found));
    CHECK(found.ss_flags == SS_ONSTACK && found.ss_sp == stack);
    CHECK(sigaltstack(&other, NULL) == -1 && errno == EPERM);
    spin(160000);
    ++handled;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
    CALL(sigaction(SIGUSR1, &action, NULL));
    stack_t wanted = {.ss_sp = stack, .ss_size = stack_bytes}, found;
    CALL(sigaltstack(&wanted, NULL));
    for (int round = 1; round <= 100; ++round) {
        spin(320000);
        CALL(raise(SIGUSR1));
        CHECK(handled == round);
        CALL(sigaltstack(NULL, &found));
        CHECK(found.ss_flags == 0 && found.ss_size == stack_bytes);
    }
    printf("ok\n");
}

// sigaction returns all of the previous action.
#include <signal.h>

#include "check.h"

static void first(int signal_number, siginfo_t* info, void* context) {
    (void)signal_number;
    (void)info;
    (void)context;
}

int main(void) {
    for (int round = 0; round < 100; ++round) {
        struct sigaction wanted = {.sa_sigaction = first,
                                   .sa_flags = SA_SIGINFO | (round % 2 ? SA_RESTART : SA_NODEFER)};
        sigaddset(&wanted.sa_mask, 1 + round % 8);
        const int signal_number = SIGRTMIN + round % 10;
        struct sigaction found;
        CALL(sigaction(signal_number, &wanted, NULL));
        spin(400000);
        CALL(sigaction(signal_number, &(struct sigaction){.sa_handler = SIG_DFL}, &found));
        CHECK(found.sa_sigaction == first && (found.sa_flags & ~0x04000000) == wanted.sa_flags);
        for (int each = 1; each < 20; ++each) {
            CHECK(sigismember(&found.sa_mask, each) == (each == 1 + round % 8));
        }
    }
    printf("ok\n");
}

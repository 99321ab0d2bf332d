// Of several pending real-time signals the one with the lowest number is delivered first.
#include <signal.h>

#include "check.h"

static int order[8];
static volatile sig_atomic_t count;

static void note(int signal_number) {
    order[count] = signal_number - SIGRTMIN;
    ++count;
}

int main(void) {
    struct sigaction action = {.sa_handler = note};
    sigfillset(&action.sa_mask);
    sigset_t all;
    sigemptyset(&all);
    for (int number = 0; number < 8; ++number) {
        CALL(sigaction(SIGRTMIN + number, &action, NULL));
        sigaddset(&all, SIGRTMIN + number);
    }
    for (int round = 0; round < 40; ++round) {
        count = 0;
        CALL(sigprocmask(SIG_BLOCK, &all, NULL));
        for (int number = 0; number < 8; ++number) {
            CALL(raise(SIGRTMIN + (number * 5 + round) % 8));
            spin(24000);
        }
        CALL(sigprocmask(SIG_UNBLOCK, &all, NULL));
        // Each frame is made on top of the previous one, so without the mask the last handler would
        // run first.
        CHECK(count == 8);
        for (int number = 0; number < 8; ++number) CHECK(order[number] == number);
    }
    printf("ok\n");
}

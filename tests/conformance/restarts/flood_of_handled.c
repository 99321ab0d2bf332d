// Each queued signal is handled once while a call waits, however fast signals come.
#include "child.h"

enum { rounds = 10, signals_of_a_round = 200 };

static volatile sig_atomic_t handled;

static void count(int number) {
    (void)number;
    ++handled;
}

int main(void) {
    const struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    CALL(sigaction(SIGRTMIN, &action, NULL));
    const pid_t parent = getpid();
    for (int round = 1; round <= rounds; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            for (int sent = 0; sent < signals_of_a_round; ++sent) {
                CALL(sigqueue(parent, SIGRTMIN, (union sigval){.sival_int = sent}));
                if (sent % 10 == 0) usleep(200);
            }
            _exit(7);
        }
        expect_exit(child, 7);
        CHECK(handled == round * signals_of_a_round);
    }
    puts("ok");
}

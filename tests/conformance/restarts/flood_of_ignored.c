// Ignored signals do not end a call that waits, however fast they come.
#include "child.h"

enum { rounds = 20, signals_of_a_round = 300 };

int main(void) {
    const pid_t parent = getpid();
    for (int round = 0; round < rounds; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            for (int sent = 0; sent < signals_of_a_round; ++sent) {
                CALL(kill(parent, SIGWINCH));
                if (sent % 10 == 0) usleep(200);
            }
            _exit(7);
        }
        expect_exit(child, 7);
    }
    puts("ok");
}

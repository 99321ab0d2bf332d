// A handler with SA_NODEFER is interrupted by its own signal.
#include <signal.h>

#include "check.h"

enum { deepest = 6 };

static volatile sig_atomic_t depth, entries;

static void nest(int signal_number) {
    const int own_depth = ++depth;
    ++entries;
    spin(30000);
    if (own_depth < deepest) {
        CALL(raise(signal_number));
        CHECK(depth == own_depth);
    }
    --depth;
}

int main(void) {
    struct sigaction action = {.sa_handler = nest, .sa_flags = SA_NODEFER};
    CALL(sigaction(SIGUSR1, &action, NULL));
    for (int round = 1; round <= 40; ++round) {
        CALL(raise(SIGUSR1));
        CHECK(depth == 0 && entries == round * deepest);
    }
    printf("ok\n");
}

// alarm returns the remaining seconds of the previous alarm, and cancels that.
#include <signal.h>

#include "check.h"

static void never(int signal_number) {
    CHECK(signal_number == 0);
}

int main(void) {
    CHECK(signal(SIGALRM, never) != SIG_ERR);
    CHECK(alarm(1000) == 0);
    for (unsigned round = 1; round <= 100; ++round) {
        spin(50000);
        const unsigned left = alarm(1000 * (round + 1));
        CHECK(left <= 1000 * round && left + 100 >= 1000 * round);
    }
    CHECK(alarm(0) > 0 && alarm(0) == 0);
    printf("ok\n");
}

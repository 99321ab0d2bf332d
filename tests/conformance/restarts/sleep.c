// A sleep that a handler ends returns the seconds that are left; one that nothing ends returns 0.
#include "waiting.h"

static long enter(void) {
    const unsigned left = sleep(300);
    CHECK(left > 200 && left <= 300);
    errno = EINTR;
    return -1;
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        spin(50000);
        CHECK(sleep(0) == 0);
        CHECK(usleep(500) == 0);
    }
    check_waiting(&(struct waiting_call){.enter = enter});
}

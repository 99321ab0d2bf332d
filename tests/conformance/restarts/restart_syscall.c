// A sleep that is stopped and continued ends at its original time, not earlier.
#include "waiting.h"

static const int64_t sleep_ns = 15 * millisecond_ns;

int main(void) {
    for (int round = 0; round < 5; ++round) {
        spin(50000);
        const pid_t parent = getpid();
        const pid_t child = CALL(fork());
        if (child == 0) {
            for (int stop = 0; stop < 4; ++stop) {
                give_time(parent, "S");
                CALL(kill(parent, SIGSTOP));
                give_time(parent, "Tt");
                CALL(kill(parent, SIGCONT));
            }
            _exit(0);
        }
        struct timespec left = {0, 0};
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        CHECK(nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, &left) == 0);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= sleep_ns);
        CHECK(left.tv_sec == 0 && left.tv_nsec <= sleep_ns + millisecond_ns);
        reap(child);
    }
    printf("ok\n");
}

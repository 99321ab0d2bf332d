// A long REP MOVSB that is interrupted goes on where it was.
#include <signal.h>
#include <sys/time.h>

#include "check.h"

enum { bytes = 1 << 20 };

static uint8_t from[bytes], to[bytes];
static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    ++handled;
}

int main(void) {
    CHECK(signal(SIGALRM, count) != SIG_ERR);
    const struct itimerval timer = {{0, 1700}, {0, 1700}};
    CALL(setitimer(ITIMER_REAL, &timer, NULL));
    for (int round = 0; round < 30 || handled < 5; ++round) {
        for (int byte = 0; byte < bytes; byte += 61) from[byte] = (uint8_t)(byte ^ round);
        const uint8_t* source = from + round % 3;
        uint8_t* target = to;
        uint64_t left = bytes - 3;
        __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(left)::"memory");
        CHECK(left == 0 && target == to + bytes - 3 && source == from + round % 3 + bytes - 3);
        CHECK(memcmp(to, from + round % 3, bytes - 3) == 0);
    }
    CALL(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL));
    printf("ok\n");
}

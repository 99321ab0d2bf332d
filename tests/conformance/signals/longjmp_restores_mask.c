// siglongjmp out of a handler restores the mask that sigsetjmp saved, if it saved one.
#include <setjmp.h>
#include <signal.h>

#include "check.h"

static sigjmp_buf back;

static void leave(int signal_number) {
    spin(80000);
    siglongjmp(back, signal_number);
}

static int is_blocked(int signal_number) {
    sigset_t mask;
    CALL(sigprocmask(SIG_SETMASK, NULL, &mask));
    return sigismember(&mask, signal_number);
}

int main(void) {
    CHECK(signal(SIGUSR1, leave) != SIG_ERR);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (volatile int round = 0; round < 100; ++round) {
        spin(320000);
        const int saves = round % 2;
        const int came_back = sigsetjmp(back, saves);
        if (came_back == 0) {
            CALL(raise(SIGUSR1));
            CHECK(!"a jump");
        }
        CHECK(came_back == SIGUSR1 && is_blocked(SIGUSR1) == !saves);
        CALL(sigprocmask(SIG_UNBLOCK, &set, NULL));
    }
    printf("ok\n");
}

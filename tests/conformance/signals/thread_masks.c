// Each thread has its own mask, which it inherits from its creator and nobody else changes.
#include <pthread.h>
#include <signal.h>

#include "check.h"

static void check_blocked(int first, int second) {
    sigset_t mask;
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
    CHECK(sigismember(&mask, SIGUSR1) == first && sigismember(&mask, SIGUSR2) == second);
}

static void* work(void* unused) {
    check_blocked(1, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK(pthread_sigmask(SIG_SETMASK, &set, NULL) == 0);
    spin(800000);
    check_blocked(0, 1);
    return unused;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    for (int round = 0; round < 25; ++round) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
        spin(800000);
        check_blocked(1, 0);
        CHECK(pthread_join(thread, NULL) == 0);
        check_blocked(1, 0);
    }
    printf("ok\n");
}

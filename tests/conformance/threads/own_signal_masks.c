// Each thread has a signal mask of its own, inherited from its maker.
#include <pthread.h>
#include <signal.h>

#include "check.h"

static void* body(void* argument) {
    const int own = *(int*)argument;
    sigset_t set;
    CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &set));
    CHECK(sigismember(&set, SIGUSR1));
    sigemptyset(&set);
    sigaddset(&set, own);
    CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
    for (int round = 0; round < 60; ++round) {
        spin(40000);
        CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &set));
        for (int number = 1; number < 32; ++number)
            CHECK(sigismember(&set, number) == (number == own));
    }
    return NULL;
}

int main(void) {
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
    int own[3] = {SIGHUP, SIGALRM, SIGTERM};
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) CHECK(!pthread_create(&threads[i], NULL, body, &own[i]));
    for (int i = 0; i < 3; ++i) CHECK(!pthread_join(threads[i], NULL));
    CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &now));
    for (int number = 1; number < 32; ++number)
        CHECK(sigismember(&now, number) == (number == SIGUSR1));
    puts("ok");
}

// Threads with the smallest possible stack run, handle signals on it, and end.
#include <limits.h>
#include <pthread.h>
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void handle(int number) {
    (void)number;
    ++handled;
}

static void* body(void* argument) {
    (void)argument;
    spin(30000);
    CHECK(!pthread_kill(pthread_self(), SIGUSR1));
    spin(30000);
    return NULL;
}

int main(void) {
    CHECK(signal(SIGUSR1, handle) != SIG_ERR);
    pthread_attr_t attributes;
    CHECK(!pthread_attr_init(&attributes));
    CHECK(!pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 4096));
    for (int round = 0; round < 60; ++round) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, &attributes, body, NULL));
        CHECK(!pthread_join(thread, NULL));
        CHECK(handled == round + 1);
    }
    puts("ok");
}

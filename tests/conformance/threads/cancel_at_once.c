// A thread that may be cancelled at any time ends within a loop without system calls.
#include <pthread.h>
#include <semaphore.h>

#include "check.h"

static sem_t ready;

static void* body(void* argument) {
    (void)argument;
    CHECK(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    sem_post(&ready);
    for (;;) spin(1000);
    return NULL;
}

int main(void) {
    CHECK(!sem_init(&ready, 0, 0));
    for (int round = 0; round < 60; ++round) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        while (sem_wait(&ready) != 0) CHECK(errno == EINTR);
        spin(40000);
        CHECK(!pthread_cancel(thread));
        void* result = NULL;
        CHECK(!pthread_join(thread, &result));
        CHECK(result == PTHREAD_CANCELED);
    }
    puts("ok");
}

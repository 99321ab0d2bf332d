// The next owner of a robust PI mutex learns that the last owner died, and can repair the mutex.
#include <pthread.h>

#include "check.h"

static pthread_mutex_t mutex;

static void* dies_with_it(void* argument) {
    (void)argument;
    CHECK(!pthread_mutex_lock(&mutex));
    spin(30000);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    CHECK(!pthread_mutexattr_init(&attributes));
    CHECK(!pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
    CHECK(!pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    CHECK(!pthread_mutex_init(&mutex, &attributes));
    for (int round = 0; round < 40; ++round) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, dies_with_it, NULL));
        CHECK(!pthread_join(thread, NULL));
        spin(50000);
        CHECK(pthread_mutex_lock(&mutex) == EOWNERDEAD);
        CHECK(!pthread_mutex_consistent(&mutex));
        CHECK(!pthread_mutex_unlock(&mutex));
        CHECK(!pthread_mutex_lock(&mutex));
        CHECK(!pthread_mutex_unlock(&mutex));
    }
    puts("ok");
}

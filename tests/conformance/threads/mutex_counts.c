// Four threads that count under one mutex lose no increment.
#include <pthread.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long counter;

static void* body(void* argument) {
    (void)argument;
    for (int round = 0; round < 20000; ++round) {
        pthread_mutex_lock(&mutex);
        counter = counter + 1;
        pthread_mutex_unlock(&mutex);
        if (round % 400 == 0) spin(20000);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
    for (int i = 0; i < 4; ++i) CHECK(!pthread_join(threads[i], NULL));
    printf("%ld\n", counter);
}

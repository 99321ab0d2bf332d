// Threads that contend for a PI mutex hold it one at a time.
#include <pthread.h>

#include "check.h"

static pthread_mutex_t mutex;
static volatile int inside, total;

static void* body(void* argument) {
    (void)argument;
    for (int round = 0; round < 100; ++round) {
        CHECK(!pthread_mutex_lock(&mutex));
        CHECK(inside == 0);
        inside = 1;
        spin(5000);
        inside = 0;
        total = total + 1;
        CHECK(!pthread_mutex_unlock(&mutex));
        spin(8000);
    }
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    CHECK(!pthread_mutexattr_init(&attributes));
    CHECK(!pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
    CHECK(!pthread_mutex_init(&mutex, &attributes));
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
    for (int i = 0; i < 3; ++i) CHECK(!pthread_join(threads[i], NULL));
    printf("%d\n", total);
}

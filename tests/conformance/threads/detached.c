// Detached threads run to their ends, as a counter under a mutex shows.
#include <pthread.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended;

static void* body(void* argument) {
    (void)argument;
    spin(50000);
    pthread_mutex_lock(&mutex);
    ++ended;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    pthread_attr_t attributes;
    CHECK(!pthread_attr_init(&attributes));
    CHECK(!pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED));
    for (int round = 0; round < 40; ++round)
        for (int i = 0; i < 2; ++i) {
            pthread_t thread;
            CHECK(!pthread_create(&thread, &attributes, body, NULL));
            pthread_mutex_lock(&mutex);
            while (ended < 2 * round + i + 1) pthread_cond_wait(&changed, &mutex);
            pthread_mutex_unlock(&mutex);
        }
    printf("%d\n", ended);
}

// Sixty simultaneous threads all do their work.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { many = 60 };

static atomic_int sum;
static pthread_barrier_t barrier;

static void* body(void* argument) {
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 10; ++round) spin(10000);
    sum += *(int*)argument;
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(void) {
    pthread_barrier_init(&barrier, NULL, many);
    pthread_t threads[many];
    int numbers[many];
    for (int i = 0; i < many; ++i) {
        numbers[i] = i;
        CHECK(!pthread_create(&threads[i], NULL, body, &numbers[i]));
    }
    for (int i = 0; i < many; ++i) CHECK(!pthread_join(threads[i], NULL));
    printf("%d\n", sum);
}

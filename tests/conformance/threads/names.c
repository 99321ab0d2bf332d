// Each thread has a name of its own, which other threads read in /proc.
#include <pthread.h>

#include "check.h"

static pthread_barrier_t barrier;

static void* body(void* argument) {
    CHECK(!pthread_setname_np(pthread_self(), argument));
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        char name[16];
        CHECK(!pthread_getname_np(pthread_self(), name, sizeof name));
        CHECK(strcmp(name, argument) == 0);
    }
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(void) {
    char* names[2] = {"first worker", "second worker"};
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) CHECK(!pthread_create(&threads[i], NULL, body, names[i]));
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 30; ++round) {
        char name[16];
        CHECK(!pthread_getname_np(threads[round % 2], name, sizeof name));
        CHECK(strcmp(name, names[round % 2]) == 0);
        spin(50000);
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 2; ++i) CHECK(!pthread_join(threads[i], NULL));
    puts("ok");
}

// pthread_once lets one of several simultaneous threads run the function, and the others wait.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static pthread_once_t once;
static atomic_int runs, finished;

static void initialize(void) {
    ++runs;
    spin(40000);
    finished = 1;
}

static void* body(void* argument) {
    (void)argument;
    CHECK(!pthread_once(&once, initialize));
    CHECK(finished == 1);
    return NULL;
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        const pthread_once_t fresh = PTHREAD_ONCE_INIT;
        once = fresh;
        runs = finished = 0;
        pthread_t threads[4];
        for (int i = 0; i < 4; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
        for (int i = 0; i < 4; ++i) CHECK(!pthread_join(threads[i], NULL));
        CHECK(runs == 1);
    }
    puts("ok");
}

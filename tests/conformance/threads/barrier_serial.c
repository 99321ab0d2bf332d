// Exactly one of the threads that meet at a barrier is the serial one, each time.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static pthread_barrier_t barrier;
static atomic_int serial, arrived;

static void* body(void* argument) {
    (void)argument;
    for (int round = 0; round < 60; ++round) {
        spin(20000);
        ++arrived;
        const int result = pthread_barrier_wait(&barrier);
        CHECK(arrived >= 3 * (round + 1));
        CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        serial += result == PTHREAD_BARRIER_SERIAL_THREAD;
    }
    return NULL;
}

int main(void) {
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
    for (int i = 0; i < 3; ++i) CHECK(!pthread_join(threads[i], NULL));
    printf("%d %d\n", serial, arrived);
}

// Readers under a read-write lock never see half of what a writer writes.
#include <pthread.h>

#include "check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile int one, two;

static void* reads(void* argument) {
    (void)argument;
    for (int round = 0; round < 150; ++round) {
        CHECK(!pthread_rwlock_rdlock(&lock));
        const int before = one;
        spin(3000);
        CHECK(before == one && before == two);
        pthread_rwlock_unlock(&lock);
        spin(10000);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) CHECK(!pthread_create(&threads[i], NULL, reads, NULL));
    for (int round = 1; round <= 150; ++round) {
        CHECK(!pthread_rwlock_wrlock(&lock));
        one = round;
        spin(3000);
        two = round;
        pthread_rwlock_unlock(&lock);
        spin(10000);
    }
    for (int i = 0; i < 3; ++i) CHECK(!pthread_join(threads[i], NULL));
    printf("%d %d\n", one, two);
}

// Each thread has its own thread-local variables, whatever the others do with theirs.
#include <pthread.h>

#include "check.h"

enum { threads = 4, rounds = 40 };

static __thread uint64_t own = 7;
static __thread uint64_t own_zero;

static void* work(void* seed) {
    CHECK(own == 7 && own_zero == 0);
    uint64_t expected = 7;
    for (uint64_t round = 0; round < rounds; ++round) {
        own += (uintptr_t)seed + round;
        expected += (uintptr_t)seed + round;
        ++own_zero;
        spin(320000);
        CHECK(own == expected && own_zero == round + 1);
    }
    return (void*)(uintptr_t)own;
}

int main(void) {
    pthread_t ids[threads];
    for (uintptr_t each = 0; each < threads; ++each) {
        CHECK(pthread_create(&ids[each], NULL, work, (void*)(each * 1000)) == 0);
    }
    for (uintptr_t each = 0; each < threads; ++each) {
        void* result;
        CHECK(pthread_join(ids[each], &result) == 0);
        printf("%lu\n", (unsigned long)(uintptr_t)result);
    }
    CHECK(own == 7);
}

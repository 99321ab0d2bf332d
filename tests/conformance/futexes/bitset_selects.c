// FUTEX_WAKE_BITSET wakes only waiters whose bit sets intersect its own.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "check.h"

static int word;
static atomic_int woken[2];

static void* body(void* argument) {
    const int own = *(int*)argument;
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1 << own));
    woken[own] = 1;
    return NULL;
}

static void wake(int bits) {
    while (CALL(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 10, NULL, NULL, bits)) == 0)
        sched_yield();
}

int main(void) {
    int numbers[2] = {0, 1};
    for (int round = 0; round < 30; ++round) {
        woken[0] = woken[1] = 0;
        pthread_t threads[2];
        for (int i = 0; i < 2; ++i) CHECK(!pthread_create(&threads[i], NULL, body, &numbers[i]));
        spin(40000);
        const int first = round % 2;
        wake(1 << first);
        CHECK(!pthread_join(threads[first], NULL));
        CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 10, NULL, NULL, 4) == 0);
        spin(30000);
        CHECK(woken[first] == 1 && woken[!first] == 0);
        wake(-1);
        CHECK(!pthread_join(threads[!first], NULL));
    }
    puts("ok");
}

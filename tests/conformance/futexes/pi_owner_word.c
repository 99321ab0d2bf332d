// A PI futex holds its owner's thread id; relocking it is EDEADLK, trylock by another EAGAIN.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"

static int word;

static void* tries(void* argument) {
    const int owner = *(int*)argument;
    CHECK(syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL) == -1 && errno == EAGAIN);
    CHECK((word & FUTEX_TID_MASK) == owner);
    CHECK(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL) == -1 && errno == EPERM);
    return NULL;
}

int main(void) {
    int self = (int)syscall(SYS_gettid);
    for (int round = 0; round < 50; ++round) {
        word = 0;
        CALL(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
        CHECK((word & FUTEX_TID_MASK) == self);
        spin(40000);
        CHECK(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL) == -1 && errno == EDEADLK);
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, tries, &self));
        CHECK(!pthread_join(thread, NULL));
        CALL(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL));
        CHECK(word == 0);
        spin(30000);
    }
    puts("ok");
}

// Each thread has its own thread-local variables, which its FS base addresses.
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"

static __thread volatile int own = 5;

static void* body(void* argument) {
    const int number = *(int*)argument;
    CHECK(own == 5);
    for (int round = 0; round < 40; ++round) {
        own = number * 1000 + round;
        spin(40000);
        CHECK(own == number * 1000 + round);
        uintptr_t base = 0;
        CALL(syscall(SYS_arch_prctl, ARCH_GET_FS, &base));
        CHECK(base == (uintptr_t)pthread_self());
    }
    return NULL;
}

int main(void) {
    int numbers[4] = {1, 2, 3, 4};
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) CHECK(!pthread_create(&threads[i], NULL, body, &numbers[i]));
    for (int i = 0; i < 4; ++i) CHECK(!pthread_join(threads[i], NULL));
    CHECK(own == 5);
    puts("ok");
}

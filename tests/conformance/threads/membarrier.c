// The expedited membarrier of a process with threads succeeds each time once it is registered.
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "check.h"

static atomic_int stop;
static volatile int one, two;

static void* body(void* argument) {
    (void)argument;
    while (!stop) {
        two = two + 1;
        __asm__ volatile("" ::: "memory");
        one = one + 1;
        spin(500);
    }
    return NULL;
}

int main(void) {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) < 0)
        skip("no membarrier");
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, body, NULL));
    for (int round = 0; round < 150; ++round) {
        spin(60000);
        const int seen = one;
        CALL(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
        CHECK(two >= seen);
    }
    stop = 1;
    CHECK(!pthread_join(thread, NULL));
    puts("ok");
}

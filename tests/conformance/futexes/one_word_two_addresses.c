// A shared futex is the same at both addresses of a page mapped twice; a private one is not.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

static int* first;
static int operation;

static void* body(void* argument) {
    (void)argument;
    CALL(syscall(SYS_futex, first, operation, 0, NULL));
    return NULL;
}

int main(void) {
    const int file = CALL(memfd_create("word", 0));
    CALL(ftruncate(file, 4096));
    first = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int* second = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(first != MAP_FAILED && second != MAP_FAILED);
    for (int round = 0; round < 40; ++round) {
        const int private = round % 2;
        operation = private ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT;
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        spin(40000);
        if (private) {
            CHECK(syscall(SYS_futex, second, FUTEX_WAKE_PRIVATE, 1) == 0);
            while (CALL(syscall(SYS_futex, first, FUTEX_WAKE_PRIVATE, 1)) == 0) sched_yield();
        } else {
            while (CALL(syscall(SYS_futex, second, FUTEX_WAKE, 1)) == 0) sched_yield();
        }
        CHECK(!pthread_join(thread, NULL));
    }
    puts("ok");
}

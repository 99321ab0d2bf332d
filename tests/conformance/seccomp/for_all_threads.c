// A filter with TSYNC holds for all threads of the process, without TSYNC for its own thread.
#include <pthread.h>

#include "filter.h"

static pthread_barrier_t barrier;

static void* body(void* argument) {
    (void)argument;
    CHECK(syscall(SYS_getppid) != -1);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 30; ++round) {
        spin(60000);
        CHECK(syscall(SYS_getppid) == -1 && errno == 90);
        CHECK(syscall(SYS_getpgrp) != -1);
    }
    return NULL;
}

int main(void) {
    pthread_barrier_init(&barrier, NULL, 3);
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
    pthread_barrier_wait(&barrier);
    INSTALL(SECCOMP_FILTER_FLAG_TSYNC, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_ERRNO | 90),
            ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getpgrp, SECCOMP_RET_ERRNO | 91),
            ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 30; ++round) {
        spin(60000);
        CHECK(syscall(SYS_getpgrp) == -1 && errno == 91);
    }
    for (int i = 0; i < 2; ++i) CHECK(!pthread_join(threads[i], NULL));
    puts("ok");
}

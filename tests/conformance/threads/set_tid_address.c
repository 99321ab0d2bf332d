// set_tid_address returns the thread's id, which does not change.
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"

static void* body(void* argument) {
    (void)argument;
    const pid_t id = (pid_t)syscall(SYS_gettid);
    for (int round = 0; round < 60; ++round) {
        spin(40000);
        CHECK(syscall(SYS_gettid) == id);
    }
    return NULL;
}

int main(void) {
    static int word;
    const pid_t self = getpid();
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, body, NULL));
    for (int round = 0; round < 60; ++round) {
        spin(40000);
        CHECK(syscall(SYS_set_tid_address, &word) == self);
        CHECK(syscall(SYS_gettid) == self);
        CHECK(word == 0);
    }
    CHECK(!pthread_join(thread, NULL));
    puts("ok");
}

// /proc/thread-self is the reading thread's, /proc/self its process's.
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"

static void* body(void* argument) {
    (void)argument;
    char expected[64], text[64];
    snprintf(expected, sizeof expected, "%d/task/%d", getpid(), (int)syscall(SYS_gettid));
    for (int round = 0; round < 40; ++round) {
        spin(60000);
        memset(text, 0, sizeof text);
        CALL(readlink("/proc/thread-self", text, sizeof text - 1));
        CHECK(strcmp(text, expected) == 0);
        memset(text, 0, sizeof text);
        CALL(readlink("/proc/self", text, sizeof text - 1));
        CHECK(atoi(text) == getpid());
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
    body(NULL);
    for (int i = 0; i < 2; ++i) CHECK(!pthread_join(threads[i], NULL));
    puts("ok");
}

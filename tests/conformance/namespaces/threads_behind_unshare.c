// After unshare(CLONE_NEWPID) a process can make no thread until setns takes it back.
#include <pthread.h>

#include "enter.h"

static void* body(void* argument) {
    spin(20000);
    return argument;
}

static void as_root_of_the_namespace(void) {
    const int own = open("/proc/self/ns/pid", O_RDONLY);
    if (own < 0) _exit(status_skipped);
    for (int round = 0; round < 40; ++round) {
        pthread_t thread;
        CALL(unshare(CLONE_NEWPID));
        spin(50000);
        CHECK(pthread_create(&thread, NULL, body, NULL) == EINVAL);
        CALL(setns(own, CLONE_NEWPID));
        spin(30000);
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        CHECK(!pthread_join(thread, NULL));
    }
}

int main(void) {
    enter_user_namespace(0);
    as_init(as_root_of_the_namespace);
    puts("ok");
}

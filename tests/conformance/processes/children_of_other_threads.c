// A thread can wait for a child of another thread, but not with __WNOTHREAD.
#include <pthread.h>

#include "child.h"

static void* look(void* argument) {
    const pid_t child = *(pid_t*)argument;
    CHECK(waitpid(-1, NULL, __WNOTHREAD | __WALL | WNOHANG) == -1 && errno == ECHILD);
    spin(30000);
    expect_exit(child, 41);
    return NULL;
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        pid_t child = CALL(fork());
        if (child == 0) {
            spin(30000);
            _exit(41);
        }
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, look, &child));
        CHECK(!pthread_join(thread, NULL));
        spin(30000);
        expect_no_child();
    }
    puts("ok");
}

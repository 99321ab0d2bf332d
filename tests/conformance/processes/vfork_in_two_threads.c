// Two threads vfork at the same time: each is suspended for its own child only.
#include <pthread.h>

#include "child.h"

static void* forks(void* argument) {
    const int code = *(int*)argument;
    for (volatile int round = 0; round < 30; ++round) {
        const pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            spin(30000);
            _exit(code);
        }
        spin(10000);
        expect_exit(child, code);
    }
    return NULL;
}

int main(void) {
    int codes[2] = {11, 22};
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, forks, &codes[i]) == 0);
    for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    expect_no_child();
    puts("ok");
}

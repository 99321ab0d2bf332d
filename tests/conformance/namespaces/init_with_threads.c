// An init with threads that fork at the same time reaps all of their children, and no others.
#include <pthread.h>

#include "enter.h"

static void* forks(void* argument) {
    for (int round = 0; round < 8; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            _exit(*(int*)argument);
        }
        spin(20000);
        expect_exit(child, *(int*)argument);
    }
    return NULL;
}

static void body(void) {
    int codes[2] = {61, 62};
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) CHECK(!pthread_create(&threads[i], NULL, forks, &codes[i]));
    for (int i = 0; i < 2; ++i) CHECK(!pthread_join(threads[i], NULL));
    expect_no_child();
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 8; ++round) as_init(body);
    puts("ok");
}

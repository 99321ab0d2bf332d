// A thread's no_new_privs, name and timer slack are its own, and its children inherit them.
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "check.h"

static void* body(void* argument) {
    (void)argument;
    CALL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CALL(prctl(PR_SET_TIMERSLACK, 123456));
    for (int round = 0; round < 30; ++round) {
        spin(60000);
        CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
        CHECK(prctl(PR_GET_TIMERSLACK) == 123456);
    }
    const pid_t child = CALL(fork());
    if (child == 0)
        _exit(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_TIMERSLACK) == 123456);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 1);
    return NULL;
}

int main(void) {
    const int before = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    const int slack = prctl(PR_GET_TIMERSLACK);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, body, NULL));
    for (int round = 0; round < 30; ++round) {
        spin(60000);
        CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == before);
        CHECK(prctl(PR_GET_TIMERSLACK) == slack);
    }
    CHECK(!pthread_join(thread, NULL));
    puts("ok");
}

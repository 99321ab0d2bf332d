// A thread whose leader has exited can still execute a program under the leader's id.
#include <pthread.h>
#include <sys/syscall.h>

#include "child.h"

static char number[16];

static void* executes(void* argument) {
    pthread_join(*(pthread_t*)argument, NULL);
    spin(100000);
    execl("/proc/thread-self/exe", "self", number, NULL);
    CHECK(!"exec failed");
    return NULL;
}

int main(int count, char** arguments) {
    if (count > 1) {
        CHECK(atoi(arguments[1]) == getpid() && syscall(SYS_gettid) == getpid());
        spin(50000);
        return 18;
    }
    for (int round = 0; round < 20; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            snprintf(number, sizeof number, "%d", getpid());
            static pthread_t leader;
            leader = pthread_self();
            pthread_t thread;
            CHECK(!pthread_create(&thread, NULL, executes, &leader));
            pthread_exit(NULL);
        }
        spin(60000);
        expect_exit(child, 18);
    }
    puts("ok");
}

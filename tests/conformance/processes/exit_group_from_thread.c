// exit_group from any thread ends all threads of the process with its code.
#include <pthread.h>
#include <sys/syscall.h>

#include "child.h"

static void* ends(void* argument) {
    spin(60000);
    syscall(SYS_exit_group, *(int*)argument);
    return NULL;
}

static void* waits(void* argument) {
    (void)argument;
    for (;;) pause();
    return NULL;
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            static int code;
            code = 100 + round;
            pthread_t thread;
            CHECK(!pthread_create(&thread, NULL, waits, NULL));
            CHECK(!pthread_create(&thread, NULL, ends, &code));
            for (;;) spin(100000);
        }
        expect_exit(child, 100 + round);
        expect_no_child();
    }
    puts("ok");
}

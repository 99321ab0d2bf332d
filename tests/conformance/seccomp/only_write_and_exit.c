// A program with threads whose filter kills it for all but write and exit runs to its end.
#include <pthread.h>
#include <stdatomic.h>

#include "filter.h"

static atomic_int begun, stop, ended;

static void* body(void* argument) {
    (void)argument;
    begun = 1;
    while (!stop) spin(5000);
    ended = 1;
    for (;;) spin(1000);
    return NULL;
}

int main(void) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, body, NULL));
    while (!begun) spin(5000);
    INSTALL(SECCOMP_FILTER_FLAG_TSYNC, ON_X86_64, ANSWER_TO(SYS_write, SECCOMP_RET_ALLOW),
            ANSWER_TO(SYS_exit_group, SECCOMP_RET_ALLOW),
            ANSWER_TO_OTHERS(SECCOMP_RET_KILL_PROCESS));
    for (int round = 0; round < 10; ++round) {
        for (int part = 0; part < 10; ++part) spin(150000);
        const char line[2] = {(char)('0' + round), '\n'};
        if (write(1, line, 2) != 2) _exit(4);
    }
    stop = 1;
    while (!ended) spin(5000);
    _exit(0);
}

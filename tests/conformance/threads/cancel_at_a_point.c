// A cancelled thread runs its cleanup handlers and ends at its next cancellation point.
#include <pthread.h>

#include "check.h"

static int order[2], handlers, pipe_ends[2];

static void cleanup(void* argument) {
    order[handlers++] = *(int*)argument;
}

static void* body(void* argument) {
    (void)argument;
    int one = 1, two = 2;
    char byte;
    pthread_cleanup_push(cleanup, &one);
    pthread_cleanup_push(cleanup, &two);
    spin(30000);
    CHECK(read(pipe_ends[0], &byte, 1) == -2);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    CALL(pipe(pipe_ends));
    for (int round = 0; round < 50; ++round) {
        handlers = 0;
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        spin(60000);
        CHECK(!pthread_cancel(thread));
        void* result = NULL;
        CHECK(!pthread_join(thread, &result));
        CHECK(result == PTHREAD_CANCELED);
        CHECK(handlers == 0 || (handlers == 2 && order[0] == 2 && order[1] == 1));
    }
    puts("ok");
}

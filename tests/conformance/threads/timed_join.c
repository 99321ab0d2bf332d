// A timed join of a thread that lives times out, and the thread can be joined later.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"

static atomic_int stop;

static void* body(void* argument) {
    while (!stop) spin(10000);
    return argument;
}

int main(void) {
    for (int round = 0; round < 20; ++round) {
        stop = 0;
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, &round));
        struct timespec until;
        CALL(clock_gettime(CLOCK_REALTIME, &until));
        until.tv_nsec += 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            ++until.tv_sec;
        }
        void* result = NULL;
        CHECK(pthread_tryjoin_np(thread, &result) == EBUSY);
        CHECK(pthread_timedjoin_np(thread, &result, &until) == ETIMEDOUT);
        CHECK(result == NULL);
        stop = 1;
        CHECK(!pthread_join(thread, &result));
        CHECK(result == &round);
    }
    puts("ok");
}

// A process whose first thread has exited ends with status 0 when its last one does.
#include <pthread.h>

#include "check.h"

static void* last(void* argument) {
    CHECK(!pthread_join(*(pthread_t*)argument, NULL));
    for (int round = 0; round < 200; ++round) spin(100000);
    puts("ok");
    fflush(stdout);
    return NULL;
}

int main(void) {
    static pthread_t self;
    self = pthread_self();
    pthread_t thread;
    spin(500000);
    CHECK(!pthread_create(&thread, NULL, last, &self));
    pthread_exit(NULL);
}

// Destructors of thread-specific data run at the thread's end, again if they set new data.
#include <pthread.h>

#include "check.h"

static pthread_key_t key;
static int runs;

static void destroy(void* value) {
    ++runs;
    spin(5000);
    if (value > (void*)1) pthread_setspecific(key, (char*)value - 1);
}

static void* body(void* argument) {
    CHECK(pthread_getspecific(key) == NULL);
    pthread_setspecific(key, argument);
    spin(30000);
    CHECK(pthread_getspecific(key) == argument);
    return NULL;
}

int main(void) {
    CHECK(!pthread_key_create(&key, destroy));
    for (int round = 0; round < 60; ++round) {
        runs = 0;
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, (void*)3));
        spin(30000);
        CHECK(!pthread_join(thread, NULL));
        CHECK(runs == 3);
    }
    puts("ok");
}

// Three hundred threads that are created and joined one after the other all run once.
#include <pthread.h>

#include "check.h"

static int runs;

static void* body(void* argument) {
    (void)argument;
    spin(20000);
    return (void*)(intptr_t)++runs;
}

int main(void) {
    for (int round = 0; round < 300; ++round) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, body, NULL));
        void* result = NULL;
        CHECK(!pthread_join(thread, &result));
        CHECK((intptr_t)result == round + 1);
    }
    printf("%d\n", runs);
}

// A server that answers requests of a client, so that it gives up its processor after each. Three
// functions execute the same loop for 60, 30 and 10% of its steps.
//
// serving client|alone TURNS
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "work.h"

enum { unit = 1500 };

static int ends[2];

__attribute__((noinline)) uint64_t serving_most(uint64_t state) {
    return work(state, 6 * unit);
}

__attribute__((noinline)) uint64_t serving_some(uint64_t state) {
    return work(state, 3 * unit) + 1;
}

__attribute__((noinline)) uint64_t serving_little(uint64_t state) {
    return work(state, unit) + 2;
}

static uint64_t serve(uint64_t state) {
    return serving_little(serving_some(serving_most(state)));
}

static void* ask(void* requests) {
    char byte = 0;
    for (long i = *(long*)requests; i > 0; --i)
        if (write(ends[1], &byte, 1) != 1 || read(ends[1], &byte, 1) != 1) exit(1);
    shutdown(ends[1], SHUT_RDWR);
    return NULL;
}

int main(int count, char** words) {
    if (count != 3) return 2;
    uint64_t state = 1;
    long turns = atol(words[2]);
    if (strcmp(words[1], "alone") == 0) {
        while (turns-- > 0) state = serve(state);
    } else {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
        pthread_t client;
        if (pthread_create(&client, NULL, ask, &turns) != 0) return 1;
        char byte;
        while (read(ends[0], &byte, 1) == 1) {
            state = serve(state);
            if (write(ends[0], &byte, 1) != 1) return 1;
        }
        pthread_join(client, NULL);
    }
    printf("%lu\n", (unsigned long)state);
    return 0;
}

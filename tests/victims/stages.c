// Runs one function, then another one in a second thread, which is called second. argv: [work]
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t rounds;

__attribute__((noinline)) uint64_t first_stage(uint64_t state) {
    for (uint64_t i = 0; i < rounds; ++i) state = state * 6364136223846793005 + 1442695040888963407;
    return state;
}

__attribute__((noinline)) uint64_t second_stage(uint64_t state) {
    for (uint64_t i = 0; i < rounds; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

static void* second_thread(void* state) {
    *(uint64_t*)state = second_stage(*(uint64_t*)state);
    return NULL;
}

int main(int argc, char** argv) {
    rounds = 50000000 * (argc > 1 ? strtoull(argv[1], NULL, 0) : 1);
    uint64_t state = first_stage(1);
    pthread_t thread;
    if (pthread_create(&thread, NULL, second_thread, &state) != 0) return 1;
    pthread_setname_np(thread, "second");
    pthread_join(thread, NULL);
    printf("%" PRIu64 "\n", state);
    return 0;
}

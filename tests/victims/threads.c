// Threads with known shares. N workers of two kinds, `thread_odd` and `thread_even`, do the same
// number of steps each. Every few steps they hand a baton round under a mutex and a condition
// variable. In every round they meet at a barrier, and the leader starts and joins a short-lived
// thread. Each kind counts its steps; the total is checked.
//
// threads [WORKERS] [ROUNDS]
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

enum { steps_per_round = 40000 };

static long workers = 4, rounds = 300;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static long baton, single_steps, short_lived;

__attribute__((noinline)) uint64_t thread_odd(uint64_t state) {
    return work(state, steps_per_round);
}
__attribute__((noinline)) uint64_t thread_even(uint64_t state) {
    return work(state, steps_per_round);
}
__attribute__((noinline)) uint64_t thread_short(uint64_t state) {
    return work(state, steps_per_round);
}

static void* short_thread(void* result) {
    *(uint64_t*)result = thread_short(1);
    return NULL;
}

static void* worker(void* argument) {
    const long index = (long)argument;
    uint64_t state = (uint64_t)index;
    for (long round = 0; round < rounds; ++round) {
        state = index % 2 ? thread_odd(state) : thread_even(state);
        pthread_mutex_lock(&lock);
        while (baton != index) pthread_cond_wait(&passed, &lock);
        baton = (baton + 1) % workers;
        ++single_steps;
        pthread_cond_broadcast(&passed);
        pthread_mutex_unlock(&lock);
        if (index == 0) {
            pthread_t thread;
            uint64_t result = 0;
            if (pthread_create(&thread, NULL, short_thread, &result) != 0) exit(2);
            pthread_join(thread, NULL);
            short_lived += result != 0;
        }
        pthread_barrier_wait(&barrier);
    }
    return (void*)state;
}

int main(int argc, char** argv) {
    if (argc > 1) workers = atol(argv[1]);
    if (argc > 2) rounds = atol(argv[2]);
    if (workers < 1 || rounds < 1) return 2;
    pthread_t* threads = calloc((size_t)workers, sizeof *threads);
    pthread_barrier_init(&barrier, NULL, (unsigned)workers);
    for (long i = 0; i < workers; ++i)
        if (pthread_create(&threads[i], NULL, worker, (void*)i) != 0) return 2;
    uint64_t sum = 0;
    for (long i = 0; i < workers; ++i) {
        void* state;
        pthread_join(threads[i], &state);
        sum += (uint64_t)state;
    }
    printf("%ld hand-overs, %ld short-lived, %016llx\n", single_steps, short_lived,
           (unsigned long long)sum);
    return 0;
}

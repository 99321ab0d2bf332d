// waits TURNS: threads that wait in known ways, and know for how long.
//
// `sleeper` sleeps, `reader` waits for a pipe, and `locker` for a mutex that `holder` has most of
// the time, while it sleeps. The main thread computes, and writes into the pipe. At the end, each
// prints its name and the share of its time that it has waited.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done;
static int ends[2];
static volatile uint64_t sink;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void nap(int64_t microseconds) {
    const struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

static void compute(int turns) {
    for (int i = 0; i < turns; ++i) sink = sink * 6364136223846793005u + 1;
}

__attribute__((noinline)) static void wait_for_time(void) {
    nap(6000);
    sink += 1;
}

__attribute__((noinline)) static void wait_for_pipe(void) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) done = 1;
    sink += 1;
}

__attribute__((noinline)) static void wait_for_lock(void) {
    pthread_mutex_lock(&mutex);
    sink += 1;
}

// Waits and computes in turns until the end.
static void run(const char* name, void (*wait)(void), int turns) {
    prctl(PR_SET_NAME, name);
    const int64_t begin = now_ns();
    int64_t waited = 0;
    while (!done) {
        const int64_t before = now_ns();
        wait();
        waited += now_ns() - before;
        if (wait == wait_for_lock) pthread_mutex_unlock(&mutex);
        compute(turns);
    }
    flockfile(stdout);
    printf("%s %.4f\n", name, (double)waited / (double)(now_ns() - begin));
    funlockfile(stdout);
}

static void* sleeper(void* unused) {
    run("sleeper", wait_for_time, 1000000);
    return unused;
}

static void* reader(void* unused) {
    run("reader", wait_for_pipe, 1000);
    return unused;
}

static void* locker(void* unused) {
    run("locker", wait_for_lock, 200000);
    return unused;
}

static void* holder(void* unused) {
    prctl(PR_SET_NAME, "holder");
    while (!done) {
        pthread_mutex_lock(&mutex);
        nap(4000);
        pthread_mutex_unlock(&mutex);
        nap(2000);
    }
    return unused;
}

int main(int argc, char** argv) {
    const long turns = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    if (pipe(ends) != 0) return 1;
    pthread_t threads[4];
    void* (*const bodies[4])(void*) = {sleeper, reader, locker, holder};
    for (int i = 0; i < 4; ++i)
        if (pthread_create(&threads[i], NULL, bodies[i], NULL) != 0) return 1;
    for (long i = 0; i < turns; ++i) {
        compute(2000000);
        if (write(ends[1], "x", 1) != 1) return 1;
    }
    done = 1;
    close(ends[1]);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    return 0;
}

// Threads that meet in one of several ways. Each way prints what natively does not depend on their
// order.
//
// meeting
// locks|spinning|pipes|first_ends|first_is_replaced|signalled|woken|exits|second_exits|executes
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { workers = 3, rounds = 400 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int queued, taken, closed;
static _Atomic uint64_t sum;
static atomic_int turn, begun;
static int pipes[2];

static uint64_t work(uint64_t state, int steps) {
    for (int i = 0; i < steps; ++i) state = state * 6364136223846793005u + 1;
    return state;
}

// A pool of threads that take jobs from a queue of at most eight.
static void* take_jobs(void* argument) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (queued == taken && !closed) pthread_cond_wait(&filled, &lock);
        const int job = queued == taken ? -1 : taken++;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&lock);
        if (job < 0) return argument;
        sum += work((uint64_t)job, job * 37 % 3000) | 1;
    }
}

static void give_jobs(void) {
    for (int job = 0; job < rounds; ++job) {
        pthread_mutex_lock(&lock);
        while (queued - taken >= 8) pthread_cond_wait(&emptied, &lock);
        ++queued;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    closed = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
}

// Threads that pass a turn round without a system call.
static void* spin_for_turn(void* argument) {
    const int own = (int)(intptr_t)argument;
    for (int round = 0; round < 20; ++round) {
        while (turn % workers != own) {
        }
        sum += work(sum, 500);
        ++turn;
    }
    return argument;
}

// Threads that pass a token through pipes: each sleeps in the kernel while the others work.
static void* pass_tokens(void* argument) {
    char token;
    for (int round = 0; round < 50; ++round) {
        if (read(pipes[0], &token, 1) != 1) exit(3);
        sum += work(1, 2000);
        if (write(pipes[1], &token, 1) != 1) exit(3);
    }
    return argument;
}

static void* outlive_first(void* argument) {
    begun = 1;
    sum = work(sum, 3000000);
    puts("the last thread");
    return argument;
}

static void* replace_first(void* argument) {
    pthread_t third;
    begun = 1;
    sum = work(sum, 3000000);
    if (pthread_create(&third, NULL, outlive_first, NULL) != 0) exit(2);
    pthread_join(third, NULL);
    puts("the second thread");
    return argument;
}

static void* exit_soon(void* argument) {
    begun = 1;
    sum = work(sum, 3000000);
    exit(9);
    return argument;
}

static void on_signal(int number) {
    (void)number;
    static const char text[] = "handled\n";
    if (write(1, text, sizeof text - 1) < 0) _exit(3);
    turn = 1;
}

static void* wait_for_signal(void* argument) {
    begun = 1;
    while (turn == 0) work(sum, 100);
    return argument;
}

static void* sleep_for_signal(void* argument) {
    sigset_t signals, none;
    sigemptyset(&none);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    begun = 1;
    while (turn == 0) sigsuspend(&none);
    return argument;
}

static void* sleep_long(void* argument) {
    begun = 1;
    pause();
    return argument;
}

static void start_all(void* (*body)(void*), pthread_t* threads) {
    for (intptr_t i = 0; i < workers; ++i)
        if (pthread_create(&threads[i], NULL, body, (void*)i) != 0) exit(2);
}

static void join_all(const pthread_t* threads) {
    for (int i = 0; i < workers; ++i)
        if (pthread_join(threads[i], NULL) != 0) exit(2);
}

static void start_one(void* (*body)(void*), pthread_t* thread) {
    if (pthread_create(thread, NULL, body, NULL) != 0) exit(2);
    while (!begun) work(1, 100);
}

int main(int argc, char** argv) {
    const char* way = argc > 1 ? argv[1] : "locks";
    pthread_t threads[workers];
    if (strcmp(way, "locks") == 0) {
        start_all(take_jobs, threads);
        give_jobs();
        join_all(threads);
    } else if (strcmp(way, "spinning") == 0) {
        start_all(spin_for_turn, threads);
        join_all(threads);
    } else if (strcmp(way, "pipes") == 0) {
        if (pipe(pipes) != 0 || write(pipes[1], "t", 1) != 1) return 2;
        start_all(pass_tokens, threads);
        join_all(threads);
    } else if (strcmp(way, "first_ends") == 0) {
        start_one(outlive_first, threads);
        pthread_exit(NULL);
    } else if (strcmp(way, "first_is_replaced") == 0) {
        start_one(replace_first, threads);
        pthread_exit(NULL);
    } else if (strcmp(way, "second_exits") == 0) {
        start_one(exit_soon, threads);
        for (;;) sum += work(1, 100);
    } else if (strcmp(way, "signalled") == 0 || strcmp(way, "woken") == 0) {
        signal(SIGUSR1, on_signal);
        start_one(way[0] == 'w' ? sleep_for_signal : wait_for_signal, threads);
        if (pthread_kill(threads[0], SIGUSR1) != 0) return 2;
        pthread_join(threads[0], NULL);
    } else if (strcmp(way, "exits") == 0) {
        start_one(sleep_long, threads);
        exit(7);
    } else if (strcmp(way, "executes") == 0) {
        start_one(sleep_long, threads);
        execl("/bin/echo", "echo", "ok", NULL);
        return 2;
    }
    puts("ok");
}

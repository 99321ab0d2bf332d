// A pre-fork server: the parent waits for its children, and each child computes with two threads
// until standard input ends. Each checks that its results stay the same, the parent that it sees
// its children end and no others.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parent.h"
#include "work.h"

enum { steps = 1000000 };

// Functions that a profile must tell apart.
__attribute__((noinline)) uint64_t prefork_first(void) {
    return work(1, steps);
}
__attribute__((noinline)) uint64_t prefork_first_thread(void) {
    return work(2, steps);
}
__attribute__((noinline)) uint64_t prefork_second(void) {
    return work(3, steps);
}
__attribute__((noinline)) uint64_t prefork_second_thread(void) {
    return work(4, steps);
}

struct role {
    uint64_t (*main_work)(void);
    uint64_t (*thread_work)(void);
};
static const struct role roles[] = {{prefork_first, prefork_first_thread},
                                    {prefork_second, prefork_second_thread}};
enum { children = sizeof roles / sizeof roles[0] };

static atomic_int has_ended;

static int input_has_ended(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) == 1;
}

static void* compute_beside(void* role) {
    uint64_t (*const compute)(void) = ((const struct role*)role)->thread_work;
    const uint64_t first = compute();
    while (!has_ended) require(compute() == first, "another result in the thread");
    return NULL;
}

static int serve(const struct role* role) {
    pthread_t thread;
    require(pthread_create(&thread, NULL, compute_beside, (void*)role) == 0, "pthread_create");
    const uint64_t first = role->main_work();
    while (!input_has_ended()) require(role->main_work() == first, "another result");
    has_ended = 1;
    require(pthread_join(thread, NULL) == 0, "pthread_join");
    return 0;
}

int main(void) {
    pid_t pids[children];
    for (int i = 0; i < children; ++i) {
        pids[i] = fork();
        require(pids[i] >= 0, "fork");
        if (pids[i] == 0) {
            const int status = serve(&roles[i]);
            fflush(stdout);
            _exit(status);
        }
    }
    for (int i = 0; i < children; ++i) {
        int status = 0;
        require(waitpid(pids[i], &status, 0) == pids[i], "waitpid");
        require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child's status");
    }
    require(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child that is not its own");
    printf("prefork: unharmed\n");
    return 0;
}

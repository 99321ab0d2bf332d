// A signal to a thread is handled by that thread, a signal to the process by any unblocked thread.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "check.h"

enum { threads = 3, rounds = 20 };

static pthread_t thread_ids[threads];
static sem_t done;
static volatile sig_atomic_t end;
static __thread int own_index = -1;
static volatile int handled_by;

static void note(int signal_number) {
    (void)signal_number;
    handled_by = own_index;
    CALL(sem_post(&done));
}

static void wait_until_handled(void) {
    while (sem_wait(&done) < 0) CHECK(errno == EINTR);
}

static void* work(void* index) {
    own_index = (int)(intptr_t)index;
    CALL(sem_post(&done));
    while (!end) spin(1000);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    CALL(sigaction(SIGUSR1, &action, NULL));
    CALL(sem_init(&done, 0, 0));
    for (intptr_t index = 0; index < threads; ++index) {
        CHECK(pthread_create(&thread_ids[index], NULL, work, (void*)index) == 0);
        wait_until_handled();
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    for (int round = 0; round < rounds; ++round) {
        CHECK(pthread_kill(thread_ids[round % threads], SIGUSR1) == 0);
        wait_until_handled();
        CHECK(handled_by == round % threads);
        // The main thread blocks the signal.
        CALL(kill(getpid(), SIGUSR1));
        wait_until_handled();
        CHECK(handled_by >= 0);
    }
    end = 1;
    for (int index = 0; index < threads; ++index) pthread_join(thread_ids[index], NULL);
    printf("ok\n");
}

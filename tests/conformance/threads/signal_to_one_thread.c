// A signal that is sent to one thread is handled by that thread.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "check.h"

static __thread volatile sig_atomic_t mine;
static sem_t handled;
static volatile pid_t handler_thread;
static atomic_int stop;

static void handle(int number) {
    (void)number;
    ++mine;
    handler_thread = (pid_t)syscall(SYS_gettid);
    sem_post(&handled);
}

static void* body(void* argument) {
    *(pid_t*)argument = (pid_t)syscall(SYS_gettid);
    while (!stop) spin(20000);
    CHECK(mine == 30);
    return NULL;
}

int main(void) {
    CHECK(signal(SIGUSR1, handle) != SIG_ERR);
    CHECK(!sem_init(&handled, 0, 0));
    pthread_t threads[2];
    volatile pid_t ids[2] = {0, 0};
    for (int i = 0; i < 2; ++i) CHECK(!pthread_create(&threads[i], NULL, body, (void*)&ids[i]));
    while (!ids[0] || !ids[1]) spin(5000);
    for (int round = 0; round < 60; ++round) {
        CHECK(!pthread_kill(threads[round % 2], SIGUSR1));
        while (sem_wait(&handled) != 0) CHECK(errno == EINTR);
        CHECK(handler_thread == ids[round % 2]);
    }
    stop = 1;
    for (int i = 0; i < 2; ++i) CHECK(!pthread_join(threads[i], NULL));
    CHECK(mine == 0);
    puts("ok");
}

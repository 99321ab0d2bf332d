// A semaphore, a condition and a barrier in shared memory work between two processes.
// diverges: children write to memory that it shares with them
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

#include "child.h"

struct shared {
    sem_t semaphore;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_barrier_t barrier;
    int value;
};

int main(void) {
    struct shared* all =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_barrierattr_t barrier;
    pthread_mutexattr_init(&mutex);
    pthread_condattr_init(&condition);
    pthread_barrierattr_init(&barrier);
    CHECK(!pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED));
    CHECK(!pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED));
    CHECK(!pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED));
    CHECK(!pthread_mutex_init(&all->mutex, &mutex));
    CHECK(!pthread_cond_init(&all->changed, &condition));
    CHECK(!pthread_barrier_init(&all->barrier, &barrier, 2));
    CHECK(!sem_init(&all->semaphore, 1, 0));
    const pid_t child = CALL(fork());
    for (int round = 0; round < 60; ++round) {
        spin(30000);
        pthread_barrier_wait(&all->barrier);
        pthread_mutex_lock(&all->mutex);
        if (child == 0) {
            while (all->value != round) pthread_cond_wait(&all->changed, &all->mutex);
            sem_post(&all->semaphore);
        } else {
            all->value = round;
            pthread_cond_signal(&all->changed);
        }
        pthread_mutex_unlock(&all->mutex);
        if (child) CALL(sem_wait(&all->semaphore));
        pthread_barrier_wait(&all->barrier);
    }
    if (child == 0) _exit(0);
    expect_exit(child, 0);
    puts("ok");
}

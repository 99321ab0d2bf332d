// sem_wait waits through stops and handlers with SA_RESTART, sem_timedwait until its deadline.
// diverges: children write to memory that it shares with them
#include <semaphore.h>

#include "waiting.h"

static sem_t* semaphore;

static void wake(void) {
    CALL(sem_post(semaphore));
}

static long enter(void) {
    return sem_wait(semaphore);
}

int main(void) {
    semaphore = shared_memory(sizeof *semaphore);
    CALL(sem_init(semaphore, 1, 0));
    for (int round = 0; round < 20; ++round) {
        spin(50000);
        const struct timespec then = after(CLOCK_REALTIME, millisecond_ns);
        CHECK(sem_timedwait(semaphore, &then) == -1 && errno == ETIMEDOUT);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 0, .restarts = true});
}

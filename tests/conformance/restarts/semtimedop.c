// semtimedop lasts for its whole time-out, and returns EINTR only behind handlers and stops.
#include <sys/sem.h>

#include "waiting.h"

static int set;

static long change(short by, const struct timespec* timeout) {
    struct sembuf operation = {.sem_op = by};
    return semtimedop(set, &operation, 1, timeout);
}

static void wake(void) {
    CALL(change(1, NULL));
}

static void make_set(void) {
    set = semget(IPC_PRIVATE, 1, 0600);
    if (set < 0 && (errno == ENOSYS || errno == ENOSPC || errno == EPERM)) skip("no semaphores");
    CHECK(set >= 0);
}

static long enter(void) {
    return change(-1, &(struct timespec){.tv_sec = 300});
}

int main(void) {
    make_set();
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        CHECK(change(-1, &(struct timespec){.tv_nsec = millisecond_ns}) == -1 && errno == EAGAIN);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 0});
    CALL(semctl(set, 0, IPC_RMID));
}

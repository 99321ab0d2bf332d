// Signals that are ignored do not end semop.
#include <sys/sem.h>

#include "ignored.h"

static int set;

static void change(short by) {
    struct sembuf operation = {.sem_op = by};
    CALL(semop(set, &operation, 1));
}

static void wake(void) {
    change(1);
}

static long enter(void) {
    change(-1);
    return 0;
}

int main(void) {
    set = semget(IPC_PRIVATE, 1, 0600);
    if (set < 0) skip("no semaphores");
    check_ignored(enter, wake);
    CALL(semctl(set, 0, IPC_RMID));
    printf("ok\n");
}

// Changes to a System V semaphore with SEM_UNDO are undone at the process's own end, not earlier.
#include <sys/ipc.h>
#include <sys/sem.h>

#include "child.h"

int main(void) {
    const int id = semget(IPC_PRIVATE, 1, 0600);
    if (id < 0) skip("no System V semaphores");
    for (int round = 0; round < 40; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            struct sembuf add = {0, 5, SEM_UNDO};
            CHECK(semop(id, &add, 1) == 0);
            for (int look = 0; look < 5; ++look) {
                spin(15000);
                CHECK(semctl(id, 0, GETVAL) == 5 && semctl(id, 0, GETPID) == getpid());
            }
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        const int value = semctl(id, 0, GETVAL);
        if (status || value) semctl(id, 0, IPC_RMID);
        CHECK(status == 0 && value == 0);
        spin(20000);
    }
    CALL(semctl(id, 0, IPC_RMID));
    puts("ok");
}

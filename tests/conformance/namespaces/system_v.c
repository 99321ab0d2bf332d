// System V objects are invisible in another IPC namespace, and end with their own.
#include <sys/ipc.h>
#include <sys/shm.h>

#include "enter.h"

int main(void) {
    enter_user_namespace(CLONE_NEWIPC);
    for (int round = 0; round < 30; ++round) {
        const int id = CALL(shmget(1234, 4096, IPC_CREAT | IPC_EXCL | 0600));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(unshare(CLONE_NEWIPC));
            spin(40000);
            CHECK(shmget(1234, 4096, 0600) == -1 && errno == ENOENT);
            CALL(shmget(1234, 8192, IPC_CREAT | IPC_EXCL | 0600));
            _exit(0);
        }
        spin(40000);
        expect_exit(child, 0);
        struct shmid_ds about;
        CALL(shmctl(id, IPC_STAT, &about));
        CHECK(about.shm_segsz == 4096 && about.shm_nattch == 0);
        CALL(shmctl(id, IPC_RMID, NULL));
    }
    puts("ok");
}

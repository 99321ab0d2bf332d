// A System V segment counts its attached processes: only this one.
// known-fault: sampled,attached: a replica has the segment attached, too
#include <sys/ipc.h>
#include <sys/shm.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 60; ++round) {
        const int id = shmget(IPC_PRIVATE, 8192, 0600);
        if (id < 0) skip("no System V memory");
        volatile int* one = shmat(id, NULL, 0);
        CHECK(one != (void*)-1);
        volatile int* two = shmat(id, NULL, SHM_RDONLY);
        CHECK(two != (void*)-1);
        CALL(shmctl(id, IPC_RMID, NULL));
        one[5] = round;
        spin(60000);
        struct shmid_ds about;
        CALL(shmctl(id, IPC_STAT, &about));
        const unsigned long attached = about.shm_nattch;
        CHECK(two[5] == round);
        CALL(shmdt((const void*)one));
        CALL(shmdt((const void*)two));
        CHECK(attached == 2);
        CHECK(shmctl(id, IPC_STAT, &about) == -1 && (errno == EINVAL || errno == EIDRM));
    }
    puts("ok");
}

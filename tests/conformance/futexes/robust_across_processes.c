// A process that is killed with a shared robust mutex leaves it to the next one with EOWNERDEAD.
// diverges: children write to memory that it shares with them
// leave-out: family: the kernel finds the list of robust mutexes as it was at a former call
#include <pthread.h>
#include <sys/mman.h>

#include "child.h"

int main(void) {
    pthread_mutexattr_t attributes;
    CHECK(!pthread_mutexattr_init(&attributes));
    CHECK(!pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    CHECK(!pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    pthread_mutex_t* mutex =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(mutex != MAP_FAILED);
    CHECK(!pthread_mutex_init(mutex, &attributes));
    for (int round = 0; round < 30; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CHECK(!pthread_mutex_lock(mutex));
            CHECK(write(ready[1], "x", 1) == 1);
            spin_for_ever();
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        CHECK(pthread_mutex_trylock(mutex) == EBUSY);
        spin(50000);
        CALL(kill(child, SIGKILL));
        CHECK(pthread_mutex_lock(mutex) == EOWNERDEAD);
        CHECK(!pthread_mutex_consistent(mutex));
        CHECK(!pthread_mutex_unlock(mutex));
        expect_killed(child, SIGKILL);
        close(ready[0]);
        close(ready[1]);
    }
    puts("ok");
}

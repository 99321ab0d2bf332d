// A fork in one of several threads makes a process with that thread alone.
#include <dirent.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "child.h"

static volatile int stop;

static void* spins(void* argument) {
    (void)argument;
    while (!stop) spin(20000);
    return NULL;
}

static void* forks(void* argument) {
    (void)argument;
    for (int round = 0; round < 30; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            CHECK(syscall(SYS_gettid) == getpid());
            DIR* folder = opendir("/proc/self/task");
            int found = 0;
            for (struct dirent* entry; (entry = readdir(folder));) found += entry->d_name[0] != '.';
            CHECK(found == 1);
            _exit(37);
        }
        expect_exit(child, 37);
    }
    return NULL;
}

int main(void) {
    pthread_t spinner, forker;
    CHECK(!pthread_create(&spinner, NULL, spins, NULL));
    CHECK(!pthread_create(&forker, NULL, forks, NULL));
    CHECK(!pthread_join(forker, NULL));
    stop = 1;
    CHECK(!pthread_join(spinner, NULL));
    expect_no_child();
    puts("ok");
}

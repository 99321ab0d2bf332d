// A thread that executes a program becomes the process, under its leader's id and alone.
#include <dirent.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "child.h"

static char number[16];

static void* spins(void* argument) {
    (void)argument;
    for (;;) spin(100000);
    return NULL;
}

static void* executes(void* argument) {
    (void)argument;
    spin(100000);
    execl("/proc/self/exe", "self", number, NULL);
    CHECK(!"exec failed");
    return NULL;
}

static int threads_here(void) {
    DIR* folder = opendir("/proc/self/task");
    CHECK(folder);
    int found = 0;
    for (struct dirent* entry; (entry = readdir(folder));) found += entry->d_name[0] != '.';
    closedir(folder);
    return found;
}

int main(int count, char** arguments) {
    if (count > 1) {
        CHECK(atoi(arguments[1]) == getpid());
        CHECK(syscall(SYS_gettid) == getpid());
        CHECK(threads_here() == 1);
        spin(50000);
        return 17;
    }
    for (int round = 0; round < 15; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            snprintf(number, sizeof number, "%d", getpid());
            pthread_t threads[3];
            for (int i = 0; i < 3; ++i)
                CHECK(!pthread_create(&threads[i], NULL, i == 2 ? executes : spins, NULL));
            spins(NULL);
        }
        expect_exit(child, 17);
        spin(60000);
    }
    puts("ok");
}

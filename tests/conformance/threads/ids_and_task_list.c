// Threads have their own ids and a common process id, and /proc lists exactly these threads.
#include <dirent.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"

enum { threads_made = 3 };

static pthread_barrier_t begun, ended;
static volatile pid_t ids[threads_made + 1];

static void* body(void* argument) {
    ids[*(int*)argument] = (pid_t)syscall(SYS_gettid);
    CHECK(getpid() == ids[0]);
    pthread_barrier_wait(&begun);
    spin(100000);
    pthread_barrier_wait(&ended);
    return NULL;
}

static void look(int expected) {
    DIR* folder = opendir("/proc/self/task");
    CHECK(folder);
    int found = 0;
    for (struct dirent* entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        int known = 0;
        for (int i = 0; i < expected; ++i) known |= atoi(entry->d_name) == ids[i];
        CHECK(known);
        ++found;
    }
    CHECK(found == expected);
    closedir(folder);
}

int main(void) {
    ids[0] = (pid_t)syscall(SYS_gettid);
    CHECK(ids[0] == getpid());
    pthread_barrier_init(&begun, NULL, threads_made + 1);
    pthread_barrier_init(&ended, NULL, threads_made + 1);
    int numbers[threads_made] = {1, 2, 3};
    pthread_t threads[threads_made];
    for (int i = 0; i < threads_made; ++i)
        CHECK(!pthread_create(&threads[i], NULL, body, &numbers[i]));
    pthread_barrier_wait(&begun);
    for (int round = 0; round < 40; ++round) {
        look(threads_made + 1);
        spin(100000);
    }
    pthread_barrier_wait(&ended);
    for (int i = 0; i < threads_made; ++i) CHECK(!pthread_join(threads[i], NULL));
    puts("ok");
}

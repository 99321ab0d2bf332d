// While threads are made and joined, /proc/self/task and Threads: agree with them.
#include <dirent.h>
#include <pthread.h>
#include <sched.h>

#include "check.h"

enum { most = 6 };

static pthread_barrier_t begun, ended;

static void* body(void* argument) {
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&ended);
    return argument;
}

static int threads_of_status(void) {
    char line[256];
    int threads = -1;
    FILE* file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) (void)sscanf(line, "Threads: %d", &threads);
    fclose(file);
    return threads;
}

int main(void) {
    for (int round = 0; round < 30; ++round) {
        const int count = 1 + round % most;
        pthread_barrier_init(&begun, NULL, (unsigned)count + 1);
        pthread_barrier_init(&ended, NULL, (unsigned)count + 1);
        pthread_t threads[most];
        for (int i = 0; i < count; ++i) CHECK(!pthread_create(&threads[i], NULL, body, NULL));
        pthread_barrier_wait(&begun);
        spin(60000);
        DIR* folder = opendir("/proc/self/task");
        CHECK(folder);
        int found = 0;
        for (struct dirent* entry; (entry = readdir(folder));) found += entry->d_name[0] != '.';
        closedir(folder);
        CHECK(found == count + 1 && threads_of_status() == count + 1);
        pthread_barrier_wait(&ended);
        for (int i = 0; i < count; ++i) CHECK(!pthread_join(threads[i], NULL));
        // The kernel lists a thread a little longer than it can be joined.
        while (threads_of_status() != 1) sched_yield();
        pthread_barrier_destroy(&begun);
        pthread_barrier_destroy(&ended);
    }
    puts("ok");
}

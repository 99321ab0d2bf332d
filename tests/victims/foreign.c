// Reads memory that others write to while it computes, so that an emulation cannot be the same.
// "shared": its child counts in shared memory. "clock": it reads the kernel's clock page.
// "written": its child writes into its private memory, and it has a second thread. Status 77: it
// may not.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

// Counts the values that a word has during a loop. The loop is so long that the writer gets a turn
// even if it shares the processor.
static int changes_of(const volatile uint32_t* word) {
    int changes = 0;
    uint32_t last = *word;
    uint64_t state = 1;
    for (int i = 0; i < 100000; ++i) {
        state = work(state, 1000);
        const uint32_t now = *word;
        changes += now != last;
        last = now;
    }
    return state == 0 ? -1 : changes;
}

static int shared(void) {
    volatile uint32_t* word =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED) return -1;
    const pid_t child = fork();
    if (child == 0)
        for (;;) ++*word;
    while (*word == 0) usleep(1000);
    const int changes = changes_of(word);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return changes;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void* wait_for_main(void* argument) {
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return argument;
}

// Counts in `word` of the parent. Tells by the pipe whether it can.
static void count_in_parent(volatile uint32_t* word, pid_t parent, int pipe) {
    const struct iovec theirs = {(void*)word, sizeof *word};
    for (uint32_t count = 1;; ++count) {
        const struct iovec own = {&count, sizeof count};
        const char can = process_vm_writev(parent, &own, 1, &theirs, 1, 0) == (ssize_t)sizeof count;
        if (count <= 1 && write(pipe, &can, 1) != 1) _exit(1);
        usleep(100);
    }
}

static int written(void) {
    // So far from what the program writes itself that it is a page of its own for any tool.
    char* room = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int pipes[2];
    if (room == MAP_FAILED || pipe(pipes) != 0) return -1;
    volatile uint32_t* word = (uint32_t*)(room + (1 << 19));
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    const uint32_t before = *word;
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        count_in_parent(word, parent, pipes[1]);
    }
    char can = 0;
    if (read(pipes[0], &can, 1) != 1 || !can) exit(77);
    pthread_mutex_lock(&held);
    pthread_t second;
    if (pthread_create(&second, NULL, wait_for_main, NULL) != 0) return -1;
    uint64_t state = before;
    for (int i = 0; i < 20000; ++i) {
        for (int step = 0; step < 100; ++step) state = work(state + *word, 1);
        getppid();
    }
    pthread_mutex_unlock(&held);
    pthread_join(second, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return state == 0 ? -1 : 1;
}

static int clock_page(void) {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start = 0;
    while (maps && start == 0 && fgets(line, sizeof line, maps))
        if (strstr(line, "[vvar]")) start = strtoul(line, NULL, 16);
    if (maps) fclose(maps);
    const volatile uint32_t* word = (const volatile uint32_t*)start;
    uint32_t sum = 0;
    for (int i = 0; start != 0 && i < 20; ++i) sum += word[i % 4];
    return sum == 1 ? 2 : 1;
}

int main(int argc, char** argv) {
    const char* way = argc > 1 ? argv[1] : "shared";
    const int changes = strcmp(way, "clock") == 0     ? clock_page()
                        : strcmp(way, "written") == 0 ? written()
                                                      : shared();
    printf("foreign: %s\n", changes > 0 ? "changed" : "still");
    return changes > 0 ? 0 : 1;
}

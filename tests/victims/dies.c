// Ends in the way that argv[1] names: exit=N, signal=N, abort, segv, trap or thread (the main
// thread ends first, another one ends the process with status 7). It ends at once, or after about
// argv[2] milliseconds of work.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

static void* end_process(void* unused) {
    (void)unused;
    work(1, 100000000);
    exit(7);
}

static void leave_main_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_process, NULL) != 0) exit(1);
    pthread_exit(NULL);
}

static void die(const char* how) {
    if (strncmp(how, "exit=", 5) == 0) _exit(atoi(how + 5));
    if (strncmp(how, "signal=", 7) == 0) kill(getpid(), atoi(how + 7));
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "segv") == 0) __asm__ volatile("movl $0, 8");
    if (strcmp(how, "trap") == 0) __asm__ volatile("ud2");
    if (strcmp(how, "thread") == 0) leave_main_thread();
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const uint64_t milliseconds = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
    work(1, milliseconds * 700000);
    die(argv[1]);
    return 3;
}

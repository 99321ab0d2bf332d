// Counts the SIGINT, SIGTERM and SIGHUP that it gets while it computes. With argv[1] "count" it
// ends half a second of work after the first one, with status 40 + their number. Otherwise they
// kill it. Prints "ready" first.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal) {
    (void)signal;
    ++interrupts;
}

int main(int argc, char** argv) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    if (argc > 1 && strcmp(argv[1], "count") == 0) {
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
    }
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
    uint64_t state = 1;
    for (int i = 0; i < 20000 && interrupts == 0; ++i) state = work(state, 1000000);
    state = work(state, 300000000);
    printf("interrupts: %d\n", (int)interrupts);
    return 40 + interrupts;
}

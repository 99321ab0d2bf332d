// What victims with children share. Needs _GNU_SOURCE.
#pragma once

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Ends the program with a reason unless `condition` holds.
static inline void require(int condition, const char* what) {
    if (condition) return;
    printf("%s: %s (%s)\n", program_invocation_short_name, what, strerror(errno));
    exit(1);
}

static volatile sig_atomic_t child_signals;

static inline void on_sigchld(int signal) {
    (void)signal;
    ++child_signals;
}

// Counts SIGCHLD in `child_signals` from now on.
static inline void count_child_signals(void) {
    struct sigaction action = {.sa_handler = on_sigchld, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
}

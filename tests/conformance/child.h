// What a child does, and how it has ended.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "check.h"

// For a child that is to be killed, by its parent or with it.
static inline _Noreturn void spin_for_ever(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) spin(100000);
}

static inline _Noreturn void sleep_for_ever(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
}

// Waits for CHILD, which must exit by itself with CODE.
static inline void expect_exit(pid_t child, int code) {
    int status = 0;
    CHECK(waitpid(child, &status, __WALL) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == code);
}

// Waits for CHILD, which must die of SIGNAL_NUMBER.
static inline void expect_killed(pid_t child, int signal_number) {
    int status = 0;
    CHECK(waitpid(child, &status, __WALL) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal_number);
}

// Checks that there is no child of any kind to wait for.
static inline void expect_no_child(void) {
    errno = 0;
    CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1);
    CHECK(errno == ECHILD);
}

// Enters namespaces without privileges.
#pragma once

#include <fcntl.h>
#include <sched.h>

#include "child.h"

static inline int write_file(const char* name, const char* text) {
    const int file = open(name, O_WRONLY | O_CLOEXEC);
    if (file < 0) return -1;
    const ssize_t done = write(file, text, strlen(text));
    close(file);
    return done == (ssize_t)strlen(text) ? 0 : -1;
}

// Makes the process root of a new user namespace, and puts it into new namespaces of the kinds in
// FLAGS.
static inline void enter_user_namespace(int flags) {
    const unsigned user = geteuid(), group = getegid();
    if (unshare(CLONE_NEWUSER | flags) != 0) skip("namespaces are refused");
    char map[64];
    snprintf(map, sizeof map, "0 %u 1", user);
    if (write_file("/proc/self/uid_map", map) != 0) skip("maps of user namespaces are refused");
    if (write_file("/proc/self/setgroups", "deny") != 0) skip("setgroups cannot be denied");
    snprintf(map, sizeof map, "0 %u 1", group);
    if (write_file("/proc/self/gid_map", map) != 0) skip("maps of user namespaces are refused");
}

// Runs BODY in process 1 of a new PID namespace, and waits for it. The caller must be in a user
// namespace of its own, and stays in its PID namespace. BODY may exit with status_skipped.
static inline void as_init(void (*body)(void)) {
    const pid_t outer = CALL(fork());
    if (outer == 0) {
        if (unshare(CLONE_NEWPID) != 0) _exit(status_skipped);
        spin(30000);
        const pid_t init = CALL(fork());
        if (init == 0) {
            CHECK(getpid() == 1);
            body();
            _exit(0);
        }
        spin(30000);
        int status = 0;
        CHECK(waitpid(init, &status, __WALL) == init);
        CHECK(WIFEXITED(status));
        _exit(WEXITSTATUS(status));
    }
    int status = 0;
    CHECK(waitpid(outer, &status, __WALL) == outer);
    if (WIFEXITED(status) && WEXITSTATUS(status) == status_skipped)
        skip("the host refuses what namespaces are for");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Like as_init, but the new namespace is for the children of this process itself. Both this process
// and the init work for a while, so that a profiler has time to notice them.
static inline void as_busy_init(void (*body)(void)) {
    if (unshare(CLONE_NEWPID) != 0) skip("the host refuses what namespaces are for");
    for (int round = 0; round < 100; ++round) spin(100000);
    const pid_t init = CALL(fork());
    if (init == 0) {
        CHECK(getpid() == 1);
        for (int round = 0; round < 100; ++round) spin(100000);
        body();
        _exit(0);
    }
    for (int round = 0; round < 100; ++round) spin(100000);
    expect_exit(init, 0);
    expect_no_child();
}

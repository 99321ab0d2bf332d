// A parent that looks for children that are not its own. Between its own forks it asks the kernel
// in every way there is, again and again, and must never find one.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parent.h"
#include "work.h"

enum { own_children = 4 };

static void require_no_child(void) {
    siginfo_t info;
    require(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "waitpid found a child");
    require(waitpid(0, NULL, WNOHANG) == -1 && errno == ECHILD, "waitpid(0) found a child");
    require(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD, "__WALL found a child");
    require(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == -1 && errno == ECHILD,
            "waitid found a child");
}

static void require_none_listed(void) {
    char text[64];
    snprintf(text, sizeof text, "/proc/self/task/%d/children", (int)getpid());
    FILE* file = fopen(text, "r");
    if (file == NULL) return;  // a kernel without CONFIG_PROC_CHILDREN
    require(fgets(text, sizeof text, file) == NULL, "/proc lists a child");
    fclose(file);
}

// Each child ends with a status of its own; the waits must see these statuses and no others.
static void fork_and_wait(void) {
    pid_t pids[own_children];
    const int signals_before = child_signals;
    for (int i = 0; i < own_children; ++i) {
        pids[i] = fork();
        require(pids[i] >= 0, "fork");
        if (pids[i] == 0) _exit(10 + i);
    }
    for (int seen = 0; seen < own_children; ++seen) {
        int status = 0;
        pid_t pid;
        do pid = wait(&status);
        while (pid < 0 && errno == EINTR);
        require(pid > 0, "wait");
        int known = 0;
        for (int i = 0; i < own_children; ++i)
            known |= pids[i] == pid && WIFEXITED(status) && WEXITSTATUS(status) == 10 + i;
        require(known, "a child that is not our own, or not its status");
    }
    require(child_signals > signals_before, "no SIGCHLD of our own children");
}

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : 80;
    count_child_signals();
    uint64_t state = 1;
    for (int round = 0; round < rounds; ++round) {
        const int signals_before = child_signals;
        for (int i = 0; i < 100; ++i) {
            state = work(state, 200000);
            require_no_child();
        }
        require_none_listed();
        require(child_signals == signals_before, "a SIGCHLD without a child");
        fork_and_wait();
    }
    require_no_child();
    printf("children: %d rounds, %d children\n", rounds, rounds * own_children);
    return 0;
}

// A child that has asked for it gets a signal when its parent ends.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "check.h"

// Makes a child, waits until the child is ready, and ends.
static void be_parent(int report) {
    int ready[2];
    CALL(pipe(ready));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    if (CALL(fork()) == 0) {
        int received;
        CALL(prctl(PR_SET_PDEATHSIG, SIGUSR1));
        CHECK(write(ready[1], "x", 1) == 1);
        while ((received = sigwaitinfo(&set, NULL)) < 0) CHECK(errno == EINTR);
        CHECK(received == SIGUSR1);
        CHECK(write(report, "d", 1) == 1);
        _exit(0);
    }
    char byte;
    CHECK(read(ready[0], &byte, 1) == 1);
    spin(150000);
    _exit(0);
}

int main(void) {
    for (int round = 0; round < 12; ++round) {
        int report[2], status;
        CALL(pipe(report));
        spin(300000);
        const pid_t child = CALL(fork());
        if (child == 0) be_parent(report[1]);
        close(report[1]);
        char byte = 0;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(read(report[0], &byte, 1) == 1 && byte == 'd');
        // The pipe ends when the child ends.
        CHECK(read(report[0], &byte, 1) == 0);
        close(report[0]);
    }
    printf("ok\n");
}

// Only waits with __WCLONE or __WALL see a child without an exit signal, and it sends none.
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "child.h"

static volatile sig_atomic_t signals;

static void count(int number) {
    (void)number;
    ++signals;
}

int main(void) {
    CHECK(signal(SIGCHLD, count) != SIG_ERR);
    for (int round = 0; round < 50; ++round) {
        const pid_t child = (pid_t)CALL(syscall(SYS_clone, 0, NULL, NULL, NULL, 0));
        if (child == 0) {
            spin(20000);
            _exit(6);
        }
        CHECK(waitpid(child, NULL, 0) == -1 && errno == ECHILD);
        CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
        spin(50000);
        int status = 0;
        if (round % 2)
            CHECK(waitpid(-1, &status, __WCLONE) == child);
        else
            CHECK(waitpid(child, &status, __WALL) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 6);
        expect_no_child();
    }
    CHECK(signals == 0);
    puts("ok");
}

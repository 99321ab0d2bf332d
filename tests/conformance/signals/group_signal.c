// A signal to a process group reaches each of its processes once.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

enum { children = 3 };

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    ++handled;
}

int main(void) {
    CHECK(signal(SIGUSR1, count) != SIG_ERR);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int round = 0; round < 8; ++round) {
        pid_t pids[children];
        int ready[2];
        CALL(pipe(ready));
        handled = 0;
        CALL(sigprocmask(SIG_BLOCK, &set, NULL));
        for (int child = 0; child < children; ++child) {
            pids[child] = CALL(fork());
            if (child == 0) CALL(setpgid(pids[0], pids[0]));
            if (pids[child] == 0) {
                CALL(setpgid(0, child == 0 ? 0 : pids[0]));
                CHECK(write(ready[1], "x", 1) == 1);
                sigset_t none;
                sigemptyset(&none);
                sigsuspend(&none);
                _exit(handled);
            }
        }
        for (int child = 0; child < children; ++child) {
            char byte;
            CHECK(read(ready[0], &byte, 1) == 1);
        }
        spin(300000);
        CALL(killpg(pids[0], SIGUSR1));
        for (int child = 0; child < children; ++child) {
            int status;
            CHECK(waitpid(pids[child], &status, 0) == pids[child]);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        }
        CALL(sigprocmask(SIG_UNBLOCK, &set, NULL));
        CHECK(handled == 0);
        close(ready[0]);
        close(ready[1]);
    }
    printf("ok\n");
}

// A child may send another signal than SIGCHLD at its end, which names the child and how it ended.
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "child.h"

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int round = 0; round < 50; ++round) {
        const pid_t child = (pid_t)CALL(syscall(SYS_clone, SIGUSR1, NULL, NULL, NULL, 0));
        if (child == 0) _exit(round);
        spin(60000);
        siginfo_t info;
        CHECK(CALL(sigwaitinfo(&set, &info)) == SIGUSR1);
        CHECK(info.si_code == CLD_EXITED);
        CHECK(info.si_pid == child);
        CHECK(info.si_status == round);
        int status = 0;
        CHECK(waitpid(child, &status, __WCLONE) == child);
        CHECK(WEXITSTATUS(status) == round);
    }
    sigset_t pending;
    CALL(sigpending(&pending));
    CHECK(!sigismember(&pending, SIGCHLD) && !sigismember(&pending, SIGUSR1));
    puts("ok");
}

// CLONE_CLEAR_SIGHAND gives the child default handlers, and leaves what is ignored.
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "child.h"

static void handle(int number) {
    (void)number;
}

int main(void) {
    CHECK(signal(SIGUSR1, handle) != SIG_ERR);
    CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
    for (int round = 0; round < 50; ++round) {
        struct clone_args arguments = {.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD};
        const pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
        if (child == -1 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
            skip("no clone3");
        CHECK(child >= 0);
        struct sigaction one, two;
        CALL(sigaction(SIGUSR1, NULL, &one));
        CALL(sigaction(SIGUSR2, NULL, &two));
        CHECK(two.sa_handler == SIG_IGN);
        if (child == 0) {
            CHECK(one.sa_handler == SIG_DFL);
            spin(30000);
            _exit(0);
        }
        CHECK(one.sa_handler == handle);
        spin(50000);
        expect_exit(child, 0);
    }
    puts("ok");
}

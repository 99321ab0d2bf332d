// clone3 makes a child with a pidfd, an exit signal and both id words.
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 50; ++round) {
        int descriptor = -1;
        pid_t parent_word = 0;
        pid_t child_word = 0;
        struct clone_args arguments = {
            .flags = CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID,
            .pidfd = (uintptr_t)&descriptor,
            .parent_tid = (uintptr_t)&parent_word,
            .child_tid = (uintptr_t)&child_word,
            .exit_signal = SIGCHLD,
        };
        const pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
        if (child == -1 && (errno == ENOSYS || errno == EPERM)) skip("no clone3");
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(child_word == getpid());
            spin(30000);
            _exit(2);
        }
        spin(50000);
        CHECK(parent_word == child && child_word == 0);
        struct pollfd one = {descriptor, POLLIN, 0};
        CHECK(poll(&one, 1, -1) == 1);
        expect_exit(child, 2);
        close(descriptor);
    }
    puts("ok");
}

// clone and clone3 refuse flags that do not go together, and make no process.
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "child.h"

static int error_of(unsigned long flags) {
    errno = 0;
    CHECK(syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0) == -1);
    return errno;
}

int main(void) {
    for (int round = 0; round < 60; ++round) {
        spin(100000);
        CHECK(error_of(CLONE_SIGHAND) == EINVAL);
        CHECK(error_of(CLONE_THREAD | CLONE_VM) == EINVAL);
        CHECK(error_of(CLONE_NEWNS | CLONE_FS) == EINVAL);
        CHECK(error_of(CLONE_PIDFD | CLONE_PARENT_SETTID) == EINVAL || errno == EFAULT);
        struct clone_args arguments = {.exit_signal = 200};
        CHECK(syscall(SYS_clone3, &arguments, sizeof arguments) == -1);
        CHECK(errno == EINVAL || errno == ENOSYS || errno == EPERM);
        expect_no_child();
    }
    puts("ok");
}

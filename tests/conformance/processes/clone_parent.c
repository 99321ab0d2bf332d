// A child that is made with CLONE_PARENT is its maker's sibling, and their parent waits for both.
#include <sched.h>
#include <sys/syscall.h>

#include "child.h"

int main(void) {
    const pid_t self = getpid();
    for (int round = 0; round < 30; ++round) {
        int tell[2];
        CALL(pipe(tell));
        const pid_t maker = CALL(fork());
        if (maker == 0) {
            spin(30000);
            const pid_t sibling =
                (pid_t)CALL(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0));
            if (sibling == 0) {
                CHECK(getppid() == self);
                spin(30000);
                _exit(21);
            }
            expect_no_child();
            CHECK(write(tell[1], &sibling, sizeof sibling) == sizeof sibling);
            _exit(20);
        }
        pid_t sibling = 0;
        CHECK(read(tell[0], &sibling, sizeof sibling) == sizeof sibling);
        spin(30000);
        expect_exit(sibling, 21);
        expect_exit(maker, 20);
        expect_no_child();
        close(tell[0]);
        close(tell[1]);
    }
    puts("ok");
}

// A process that joins a PID namespace by setns stays in its own; its children are in the new one.
#include <sys/syscall.h>

#include "enter.h"

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 20; ++round) {
        const pid_t outer = CALL(fork());
        if (outer == 0) {
            const pid_t maker = CALL(fork());
            if (maker == 0) {
                CALL(unshare(CLONE_NEWPID));
                const pid_t init = CALL(fork());
                if (init == 0) sleep_for_ever();
                char name[64];
                snprintf(name, sizeof name, "/proc/self/ns/pid_for_children");
                const int space = CALL(open(name, O_RDONLY));
                CALL(setns(space, CLONE_NEWPID));
                spin(30000);
                const pid_t self = getpid();
                const pid_t child = CALL(fork());
                if (child == 0) {
                    spin(20000);
                    _exit(getpid() == 2 && getppid() == 0 ? 0 : 1);
                }
                CHECK(getpid() == self && child != 2);
                expect_exit(child, 0);
                const int back = CALL(open("/proc/self/ns/pid", O_RDONLY));
                if (setns(back, CLONE_NEWPID) == 0) {
                    const pid_t other = CALL(fork());
                    if (other == 0) _exit(getppid() == self ? 0 : 1);
                    expect_exit(other, 0);
                }
                CALL(kill(init, SIGKILL));
                expect_killed(init, SIGKILL);
                _exit(0);
            }
            expect_exit(maker, 0);
            _exit(0);
        }
        expect_exit(outer, 0);
    }
    puts("ok");
}

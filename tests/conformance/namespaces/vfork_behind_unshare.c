// A vforked child after unshare(CLONE_NEWPID) is process 1, also after it executes a program.
#include "enter.h"

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        spin(30000);
        CHECK(getpid() == 1 && getppid() == 0);
        expect_no_child();
        return 56;
    }
    enter_user_namespace(0);
    for (volatile int round = 0; round < 20; ++round) {
        const pid_t outer = CALL(fork());
        if (outer == 0) {
            CALL(unshare(CLONE_NEWPID));
            spin(50000);
            char* const list[] = {"self", "again", NULL};
            const pid_t child = vfork();
            CHECK(child >= 0);
            if (child == 0) {
                execv("/proc/self/exe", list);
                _exit(1);
            }
            expect_exit(child, 56);
            _exit(0);
        }
        expect_exit(outer, 0);
    }
    puts("ok");
}

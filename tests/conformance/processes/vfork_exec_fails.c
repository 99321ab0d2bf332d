// An exec that fails in a vforked child leaves its errno in the parent's memory.
#include "child.h"

int main(void) {
    static int round;
    for (round = 0; round < 50; ++round) {
        char* const list[] = {"missing", NULL};
        volatile int error = 0;
        errno = 0;
        const pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            spin(20000);
            execve("/nonexistent/program", list, NULL);
            error = errno;
            spin(20000);
            _exit(7);
        }
        CHECK(error == ENOENT);
        spin(30000);
        expect_exit(child, 7);
    }
    puts("ok");
}

// When a vforked child executes a program, its parent goes on with its memory unchanged.
#include "child.h"

static volatile int failed;

int main(int count, char** arguments) {
    if (count > 1) {
        spin(30000);
        return atoi(arguments[1]);
    }
    static int round;
    for (round = 0; round < 25; ++round) {
        char code[16];
        snprintf(code, sizeof code, "%d", round + 1);
        char* const list[] = {"self", code, NULL};
        char* const environment[] = {NULL};
        failed = 0;
        const pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            spin(20000);
            execve("/proc/self/exe", list, environment);
            failed = 1;
            _exit(99);
        }
        spin(60000);
        CHECK(failed == 0);
        expect_exit(child, round + 1);
    }
    puts("ok");
}

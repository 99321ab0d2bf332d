// The first process of a user namespace is and stays root there, with all capabilities.
#include "enter.h"

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 100; ++round) {
        CHECK(getuid() == 0 && geteuid() == 0 && getgid() == 0 && getegid() == 0);
        spin(60000);
        if (round % 10) continue;
        const pid_t child = CALL(fork());
        if (child == 0) {
            CHECK(getuid() == 0);
            CALL(sethostname("x", 0) == -1 && errno == EPERM ? 0 : -1);
            _exit(0);
        }
        expect_exit(child, 0);
    }
    puts("ok");
}

// Process ids in a new PID namespace are consecutive, and go to its own processes and threads only.
#include "enter.h"

static void body(void) {
    for (pid_t next = 2; next < 12; ++next) {
        spin(40000);
        const pid_t child = CALL(fork());
        if (child == 0) _exit(getpid() == next ? 0 : 1);
        CHECK(child == next);
        expect_exit(child, 0);
    }
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 8; ++round) as_init(body);
    puts("ok");
}

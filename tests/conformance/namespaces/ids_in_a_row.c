// Process ids in a fresh PID namespace are given in a row, to its own processes and threads alone.
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

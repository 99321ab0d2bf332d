// Process ids in a PID namespace are consecutive, even if its processes work for long.
#include "enter.h"

static void body(void) {
    for (pid_t next = 2; next < 22; ++next) {
        for (int part = 0; part < 10; ++part) spin(60000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            for (int part = 0; part < 10; ++part) spin(60000);
            _exit(getpid() == next ? 0 : 1);
        }
        CHECK(child == next);
        expect_exit(child, 0);
    }
}

int main(void) {
    enter_user_namespace(0);
    as_busy_init(body);
    puts("ok");
}

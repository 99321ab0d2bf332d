// When an init ends, all processes of its PID namespace end before the init can be waited for.
#include "enter.h"

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 15; ++round) {
        int alive[2], ready[2];
        CALL(pipe(alive));
        CALL(pipe(ready));
        const pid_t outer = CALL(fork());
        if (outer == 0) {
            CALL(unshare(CLONE_NEWPID));
            const pid_t init = CALL(fork());
            if (init == 0) {
                for (int i = 0; i < 4; ++i)
                    if (CALL(fork()) == 0) {
                        CHECK(write(ready[1], "x", 1) == 1);
                        if (i) sleep_for_ever();
                        spin_for_ever();
                    }
                char bytes[1];
                for (int i = 0; i < 4; ++i) CHECK(read(ready[0], bytes, 1) == 1);
                spin(30000);
                _exit(53);
            }
            expect_exit(init, 53);
            _exit(0);
        }
        CALL(close(alive[1]));
        expect_exit(outer, 0);
        char byte;
        CALL(fcntl(alive[0], F_SETFL, O_NONBLOCK));
        CHECK(read(alive[0], &byte, 1) == 0);
        CALL(close(alive[0]));
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
    puts("ok");
}

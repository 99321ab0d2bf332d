// kill(-1) by an init reaches all others in its namespace, and fails with ESRCH if there is none.
#include "enter.h"

static void body(void) {
    for (int round = 0; round < 8; ++round) {
        CHECK(kill(-1, 0) == -1 && errno == ESRCH);
        int ready[2];
        CALL(pipe(ready));
        pid_t pids[2];
        for (int i = 0; i < 2; ++i) {
            pids[i] = CALL(fork());
            if (pids[i] == 0) {
                CHECK(write(ready[1], "x", 1) == 1);
                sleep_for_ever();
            }
        }
        char byte;
        for (int i = 0; i < 2; ++i) CHECK(read(ready[0], &byte, 1) == 1);
        spin(40000);
        CALL(kill(-1, SIGKILL));
        for (int i = 0; i < 2; ++i) expect_killed(pids[i], SIGKILL);
        expect_no_child();
        CHECK(kill(-1, 0) == -1 && errno == ESRCH);
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 5; ++round) as_init(body);
    puts("ok");
}

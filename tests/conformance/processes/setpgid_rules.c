// setpgid refuses children behind exec, session leaders, and groups of other sessions.
#include <signal.h>

#include "child.h"

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        CHECK(write(1, "x", 1) == 1);
        sleep_for_ever();
    }
    for (int round = 0; round < 20; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t executed = CALL(fork());
        if (executed == 0) {
            dup2(ready[1], 1);
            execl("/proc/self/exe", "self", "again", NULL);
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        const pid_t leader = CALL(fork());
        if (leader == 0) {
            CALL(setsid());
            CHECK(setpgid(0, 0) == -1 && errno == EPERM);
            CHECK(write(ready[1], "x", 1) == 1);
            sleep_for_ever();
        }
        CHECK(read(ready[0], &byte, 1) == 1);
        spin(50000);
        CHECK(setpgid(executed, 0) == -1 && errno == EACCES);
        CHECK(setpgid(leader, 0) == -1 && errno == EPERM);
        CHECK(setpgid(0, leader) == -1 && errno == EPERM);
        CALL(kill(executed, SIGKILL));
        CALL(kill(leader, SIGKILL));
        expect_killed(executed, SIGKILL);
        expect_killed(leader, SIGKILL);
        close(ready[0]);
        close(ready[1]);
    }
    puts("ok");
}

// SIGKILL ends a stopped child; SIGTERM waits until the child continues.
#include <signal.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 30; ++round) {
        const int number = round % 2 ? SIGKILL : SIGTERM;
        const pid_t child = CALL(fork());
        if (child == 0) {
            raise(SIGSTOP);
            spin_for_ever();
        }
        int status = 0;
        CHECK(waitpid(child, &status, WUNTRACED) == child);
        CHECK(WIFSTOPPED(status));
        CALL(kill(child, number));
        spin(80000);
        if (number == SIGTERM) {
            CHECK(waitpid(child, &status, WNOHANG) == 0);
            CALL(kill(child, SIGCONT));
        }
        expect_killed(child, number);
    }
    puts("ok");
}

// WUNTRACED reports a child's stop once, WCONTINUED its continuation once.
#include <signal.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 30; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) spin_for_ever();
        int status = 0;
        CALL(kill(child, SIGSTOP));
        CHECK(waitpid(child, &status, WUNTRACED) == child);
        CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
        spin(40000);
        CHECK(waitpid(child, &status, WUNTRACED | WNOHANG) == 0);
        CALL(kill(child, SIGCONT));
        CHECK(waitpid(child, &status, WCONTINUED | WUNTRACED) == child);
        CHECK(WIFCONTINUED(status));
        spin(40000);
        CHECK(waitpid(child, &status, WCONTINUED | WUNTRACED | WNOHANG) == 0);
        CALL(kill(child, SIGKILL));
        expect_killed(child, SIGKILL);
    }
    puts("ok");
}

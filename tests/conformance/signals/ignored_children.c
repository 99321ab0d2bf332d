// With SIGCHLD ignored, children are reaped automatically, and waits for them end with ECHILD.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 20; ++round) {
        struct sigaction action = {.sa_handler = round % 2 ? SIG_IGN : SIG_DFL,
                                   .sa_flags = round % 2 ? 0 : SA_NOCLDWAIT};
        CALL(sigaction(SIGCHLD, &action, NULL));
        spin(300000);
        const pid_t child = CALL(fork());
        if (child == 0) _exit(3);
        CHECK(waitpid(child, NULL, 0) == -1 && errno == ECHILD);
        CHECK(kill(child, 0) == -1 && errno == ESRCH);
    }
    printf("ok\n");
}

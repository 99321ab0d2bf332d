// With SA_NOCLDWAIT children leave no zombies, and SIGCHLD still comes.
#include <signal.h>

#include "child.h"

static volatile sig_atomic_t signals;

static void handle(int number) {
    (void)number;
    ++signals;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_NOCLDWAIT | SA_RESTART};
    CALL(sigaction(SIGCHLD, &action, NULL));
    for (int round = 0; round < 50; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(30000);
            _exit(1);
        }
        CHECK(waitpid(child, NULL, 0) == -1 && errno == ECHILD);
        CHECK(signals == round + 1);
        spin(50000);
    }
    puts("ok");
}

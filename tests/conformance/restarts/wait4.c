// wait4 returns the child that ended, and goes on behind handlers with SA_RESTART and behind stops.
#include <sys/resource.h>

#include "waiting.h"

static int go[2];
static pid_t awaited;

// The awaited child ends when it is told to.
static void start(void) {
    if (awaited != 0) return;
    awaited = CALL(fork());
    if (awaited != 0) return;
    tick(0);
    char byte;
    while (read(go[0], &byte, 1) < 0 && errno == EINTR) {
    }
    _exit(9);
}

static void wake(void) {
    CHECK(write(go[1], "x", 1) == 1);
}

static long enter(void) {
    int status;
    struct rusage usage;
    const pid_t child = wait4(awaited, &status, 0, &usage);
    if (child < 0) return -1;
    CHECK(child == awaited && WIFEXITED(status));
    awaited = 0;
    const int result = WEXITSTATUS(status);
    start();
    return result;
}

int main(void) {
    CALL(pipe(go));
    start();
    const struct waiting_call call = {enter, wake, .done = 9, .restarts = true};
    check_waiting(&call);
    wake();
    int status;
    CHECK(waitpid(awaited, &status, 0) == awaited && WEXITSTATUS(status) == 9);
    CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
}

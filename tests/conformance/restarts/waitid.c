// waitid returns which child ended and how, through stops and handlers with SA_RESTART.
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
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)awaited, &info, WEXITED) < 0) return -1;
    CHECK(info.si_pid == awaited && info.si_code == CLD_EXITED && info.si_signo == SIGCHLD);
    awaited = 0;
    start();
    return info.si_status;
}

int main(void) {
    CALL(pipe(go));
    start();
    check_waiting(&(struct waiting_call){enter, wake, .done = 9, .restarts = true});
    wake();
    siginfo_t info;
    CHECK(waitid(P_ALL, 0, &info, WEXITED) == 0 && info.si_pid == awaited);
    CHECK(waitid(P_ALL, 0, &info, WEXITED) == -1 && errno == ECHILD);
}

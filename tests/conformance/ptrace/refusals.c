// A process cannot trace itself, nor read by ptrace a process that it does not trace.
#include <sys/ptrace.h>

#include "child.h"

int main(void) {
    const pid_t child = CALL(fork());
    if (child == 0) sleep_for_ever();
    for (int round = 0; round < 60; ++round) {
        spin(80000);
        CHECK(ptrace(PTRACE_ATTACH, getpid(), 0, 0) == -1 && errno == EPERM);
        errno = 0;
        CHECK(ptrace(PTRACE_PEEKDATA, child, &child, 0) == -1 &&
              (errno == ESRCH || errno == EPERM));
        CHECK(ptrace(PTRACE_CONT, child, 0, 0) == -1 && (errno == ESRCH || errno == EPERM));
    }
    CALL(kill(child, SIGKILL));
    expect_killed(child, SIGKILL);
    puts("ok");
}

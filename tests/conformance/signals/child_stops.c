// A parent learns of a child's stop and continuation by SIGCHLD and by waitpid.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    ++handled;
}

static void expect(pid_t child, int options, int wanted) {
    int status;
    pid_t found;
    while ((found = waitpid(child, &status, options)) < 0) CHECK(errno == EINTR);
    CHECK(found == child && status == wanted);
}

int main(void) {
    CHECK(signal(SIGCHLD, count) != SIG_ERR);
    const pid_t child = CALL(fork());
    if (child == 0) {
        for (;;) spin(1000);
    }
    for (int round = 1; round <= 15; ++round) {
        spin(300000);
        CALL(kill(child, SIGSTOP));
        expect(child, WUNTRACED, SIGSTOP << 8 | 0x7f);
        spin(300000);
        CHECK(waitpid(child, NULL, WNOHANG | WUNTRACED | WCONTINUED) == 0);
        CALL(kill(child, SIGCONT));
        expect(child, WCONTINUED, 0xffff);
    }
    CHECK(handled >= 15);
    CALL(kill(child, SIGTERM));
    expect(child, 0, SIGTERM);
    printf("ok\n");
}

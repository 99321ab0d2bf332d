// Signals that two processes send each other in turn are neither lost nor doubled.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

enum { turns = 60 };

static sigset_t set;

static void play(pid_t other, int begins) {
    for (int turn = 0; turn < turns; ++turn) {
        siginfo_t info;
        int received;
        if (begins) CALL(sigqueue(other, SIGRTMIN, (union sigval){.sival_int = turn}));
        while ((received = sigwaitinfo(&set, &info)) < 0) CHECK(errno == EINTR);
        CHECK(received == SIGRTMIN && info.si_pid == other && info.si_value.sival_int == turn);
        spin(160000);
        if (!begins) CALL(sigqueue(other, SIGRTMIN, (union sigval){.sival_int = turn}));
    }
}

int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    const pid_t parent = getpid();
    const pid_t child = CALL(fork());
    play(child == 0 ? parent : child, child == 0);
    if (child == 0) _exit(0);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CALL(sigpending(&set));
    CHECK(sigisemptyset(&set));
    printf("%d turns\n", turns);
}

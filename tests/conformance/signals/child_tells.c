// SIGCHLD says which child ended and how; each child that is waited for sends one.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static volatile sig_atomic_t pid, code, status, handled;

static void note(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGCHLD && info->si_uid == getuid());
    pid = info->si_pid;
    code = info->si_code;
    status = info->si_status;
    ++handled;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};
    CALL(sigaction(SIGCHLD, &action, NULL));
    for (int round = 1; round <= 20; ++round) {
        spin(300000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            if (round % 2) _exit(round);
            CALL(raise(SIGTERM));
        }
        int ended;
        CHECK(waitpid(child, &ended, 0) == child);
        CHECK(handled == round && pid == child);
        CHECK(round % 2 ? code == CLD_EXITED && status == round
                        : code == CLD_KILLED && status == SIGTERM);
        CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
    }
    printf("%d children\n", handled);
}

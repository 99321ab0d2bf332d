// siginfo distinguishes kill from tgkill, and names the sender.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

static volatile sig_atomic_t code, sender;

static void note(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(info->si_signo == signal_number && info->si_errno == 0 && info->si_uid == getuid());
    code = info->si_code;
    sender = info->si_pid;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGUSR1, &action, NULL));
    const pid_t self = getpid();
    for (int round = 0; round < 60; ++round) {
        spin(400000);
        CALL(kill(self, SIGUSR1));
        CHECK(code == SI_USER && sender == self);
        CALL(syscall(SYS_tgkill, self, self, SIGUSR1));
        CHECK(code == SI_TKILL && sender == self);
    }
    for (int round = 0; round < 10; ++round) {
        spin(400000);
        const pid_t child = CALL(fork());
        if (child == 0) _exit(kill(self, SIGUSR1));
        int status;
        while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
        CHECK(status == 0 && code == SI_USER && sender == child);
    }
    printf("ok\n");
}

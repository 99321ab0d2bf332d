// Real-time signals are queued, each with its value, and delivered in order.
#include <signal.h>

#include "check.h"

enum { batch = 12 };

static volatile sig_atomic_t next;

static void take(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGRTMIN + 2 && info->si_signo == signal_number);
    CHECK(info->si_code == SI_QUEUE && info->si_pid == getpid() && info->si_uid == getuid());
    CHECK(info->si_value.sival_int == next);
    ++next;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGRTMIN + 2, &action, NULL));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 2);
    int sent = 0;
    for (int round = 0; round < 30; ++round) {
        CALL(sigprocmask(SIG_BLOCK, &set, NULL));
        for (int one = 0; one < batch; ++one, ++sent) {
            CALL(sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = sent}));
            spin(30000);
        }
        CALL(sigprocmask(SIG_UNBLOCK, &set, NULL));
        CHECK(next == sent);
    }
    printf("%d delivered\n", sent);
}

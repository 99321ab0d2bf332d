// read of a signalfd waits for a signal through stops and handlers with SA_RESTART.
#include <sys/signalfd.h>

#include "waiting.h"

static int signals;
static pid_t reader;

static void wake(void) {
    CALL(sigqueue(reader, SIGRTMIN + 1, (union sigval){.sival_int = 42}));
}

static long enter(void) {
    struct signalfd_siginfo info;
    const long result = read(signals, &info, sizeof info);
    CHECK(result < 0 || (info.ssi_code == SI_QUEUE && info.ssi_int == 42));
    return result;
}

int main(void) {
    reader = getpid();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    signals = CALL(signalfd(-1, &set, 0));
    check_waiting(&(struct waiting_call){enter, wake, sizeof(struct signalfd_siginfo), true});
}

// sigwaitinfo takes the signal that it waits for, and returns EINTR only behind handlers and stops.
#include "waiting.h"

static sigset_t awaited;
static pid_t waiter;

static void wake(void) {
    CALL(sigqueue(waiter, SIGRTMIN, (union sigval){.sival_int = 42}));
}

static void block_awaited(void) {
    waiter = getpid();
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGRTMIN);
    CALL(sigprocmask(SIG_BLOCK, &awaited, NULL));
}

static void check_info(long result, const siginfo_t* info) {
    CHECK(result == -1 || result == SIGRTMIN);
    CHECK(result == -1 || (info->si_code == SI_QUEUE && info->si_value.sival_int == 42));
}

static long enter(void) {
    siginfo_t info;
    const long result = sigwaitinfo(&awaited, &info);
    check_info(result, &info);
    return result > 0 ? 0 : result;
}

int main(void) {
    block_awaited();
    check_waiting(&(struct waiting_call){enter, wake, .done = 0});
}

// sigtimedwait lasts for its whole time-out, and returns EINTR only behind handlers and stops.
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
    const long result = sigtimedwait(&awaited, &info, &(struct timespec){.tv_sec = 300});
    check_info(result, &info);
    return result > 0 ? 0 : result;
}

int main(void) {
    block_awaited();
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        const struct timespec timeout = {.tv_nsec = millisecond_ns};
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        CHECK(sigtimedwait(&awaited, NULL, &timeout) == -1 && errno == EAGAIN);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= millisecond_ns);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 0});
}

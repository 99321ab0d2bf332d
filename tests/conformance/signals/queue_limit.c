// Beyond RLIMIT_SIGPENDING real-time signals are refused, and standard ones are not.
#include <signal.h>
#include <sys/resource.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    CHECK(signal_number == SIGUSR1);
    ++handled;
}

int main(void) {
    struct rlimit limit;
    CALL(getrlimit(RLIMIT_SIGPENDING, &limit));
    limit.rlim_cur = 0;
    CALL(setrlimit(RLIMIT_SIGPENDING, &limit));
    CHECK(signal(SIGUSR1, count) != SIG_ERR);
    for (int round = 1; round <= 80; ++round) {
        spin(400000);
        CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == -1 && errno == EAGAIN);
        CALL(kill(getpid(), SIGUSR1));
        CHECK(handled == round);
    }
    printf("ok\n");
}

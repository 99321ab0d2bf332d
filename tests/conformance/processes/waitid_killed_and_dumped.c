// waitid distinguishes a child that was killed from one that would have left a core.
#include <signal.h>
#include <sys/resource.h>

#include "child.h"

int main(void) {
    const struct rlimit none = {0, 0};
    CALL(setrlimit(RLIMIT_CORE, &none));
    const int signals[] = {SIGKILL, SIGTERM, SIGABRT, SIGUSR2, SIGSEGV};
    for (int round = 0; round < 50; ++round) {
        const int number = signals[round % 5];
        const pid_t child = CALL(fork());
        if (child == 0) spin_for_ever();
        spin(50000);
        CALL(kill(child, number));
        siginfo_t info = {0};
        CALL(waitid(P_ALL, 0, &info, WEXITED));
        CHECK(info.si_pid == child);
        CHECK(info.si_status == number);
        CHECK(info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
        if (number != SIGABRT && number != SIGSEGV) CHECK(info.si_code == CLD_KILLED);
    }
    puts("ok");
}

// pidfd_send_signal reaches the process with the given value, and fails with ESRCH after its end.
#include <signal.h>
#include <sys/syscall.h>

#include "child.h"

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int round = 0; round < 40; ++round) {
        const pid_t self = getpid();
        const pid_t child = CALL(fork());
        if (child == 0) {
            siginfo_t info;
            CHECK(sigwaitinfo(&set, &info) == SIGUSR1);
            CHECK(info.si_code == SI_QUEUE);
            CHECK(info.si_pid == self);
            CHECK(info.si_value.sival_int == round);
            _exit(0);
        }
        const int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
        siginfo_t info;
        memset(&info, 0, sizeof info);
        info.si_signo = SIGUSR1;
        info.si_code = SI_QUEUE;
        info.si_pid = self;
        info.si_uid = getuid();
        info.si_value.sival_int = round;
        spin(50000);
        if (descriptor < 0 || syscall(SYS_pidfd_send_signal, descriptor, SIGUSR1, &info, 0) < 0) {
            kill(child, SIGKILL);
            expect_killed(child, SIGKILL);
            skip("no pidfd_open or pidfd_send_signal");
        }
        expect_exit(child, 0);
        CHECK(syscall(SYS_pidfd_send_signal, descriptor, 0, NULL, 0) == -1 && errno == ESRCH);
        close(descriptor);
    }
    puts("ok");
}

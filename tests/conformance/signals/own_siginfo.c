// rt_sigqueueinfo delivers all of a siginfo that the process has filled in.
#include <signal.h>
#include <sys/syscall.h>

#include "check.h"

static siginfo_t received;

static void note(int signal_number, siginfo_t* info, void* context) {
    (void)signal_number;
    (void)context;
    received = *info;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGRTMIN, &action, NULL));
    for (int round = 0; round < 100; ++round) {
        spin(400000);
        siginfo_t sent = {.si_signo = SIGRTMIN, .si_code = -60, .si_errno = 1000 + round};
        sent.si_pid = 7;
        sent.si_uid = 8;
        sent.si_value.sival_ptr = (void*)(0x123456789abcu + (uintptr_t)round);
        CALL(syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN, &sent));
        CHECK(received.si_code == -60 && received.si_errno == 1000 + round);
        CHECK(received.si_pid == 7 && received.si_uid == 8);
        CHECK(received.si_value.sival_ptr == sent.si_value.sival_ptr);
    }
    printf("ok\n");
}

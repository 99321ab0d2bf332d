// A trapped call sends SIGSYS with its number and address; the handler's result is the call's.
#include <ucontext.h>

#include "filter.h"

static volatile sig_atomic_t traps;

static void handle(int number, siginfo_t* info, void* context) {
    ucontext_t* state = context;
    CHECK(number == SIGSYS && info->si_code == 1);
    CHECK(info->si_syscall == SYS_getppid && info->si_arch == AUDIT_ARCH_X86_64);
    CHECK((greg_t)(uintptr_t)info->si_call_addr == state->uc_mcontext.gregs[REG_RIP]);
    CHECK(state->uc_mcontext.gregs[REG_RAX] == SYS_getppid);
    state->uc_mcontext.gregs[REG_RAX] = 31415;
    ++traps;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSYS, &action, NULL));
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_TRAP),
            ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    for (int round = 0; round < 100; ++round) {
        spin(80000);
        CHECK(syscall(SYS_getppid) == 31415);
        CHECK(traps == round + 1);
    }
    puts("ok");
}

// With syscall user dispatch each call raises SIGSYS while the selector blocks.
// known-fault: sampled,exact,family,verify,attached: an injected call is dispatched to the program
#include <ucontext.h>

#include "filter.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

enum { calls_allowed = 0, calls_blocked = 1 };

static volatile char selector = calls_allowed;
static volatile sig_atomic_t traps, others;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    ucontext_t* state = context;
    selector = calls_allowed;
    if (info->si_syscall == SYS_getppid)
        ++traps;
    else
        ++others;
    state->uc_mcontext.gregs[REG_RAX] = 2718;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSYS, &action, NULL));
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) != 0)
        skip("no syscall user dispatch");
    for (int round = 0; round < 150; ++round) {
        selector = calls_blocked;
        spin(120000);
        CHECK(syscall(SYS_getppid) == 2718);
        CHECK(selector == calls_allowed && traps == round + 1 && others == 0);
    }
    puts("ok");
}

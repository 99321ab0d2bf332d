// The fault of a stack at its limit is handled on the alternate stack.
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

#include "check.h"

enum { stack_bytes = 65536, limit_bytes = 256 * 1024 };

static char stack[stack_bytes];
static sigjmp_buf back;
static volatile int deepest;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGSEGV && info->si_code == SEGV_MAPERR);
    siglongjmp(back, 1);
}

__attribute__((noinline)) static int sink(int depth) {
    volatile char frame[4096];
    frame[0] = (char)depth;
    deepest = depth;
    return depth < 0 ? 0 : sink(depth + 1) + frame[0];
}

int main(void) {
    struct rlimit limit;
    CALL(getrlimit(RLIMIT_STACK, &limit));
    limit.rlim_cur = limit_bytes;
    CALL(setrlimit(RLIMIT_STACK, &limit));
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    CALL(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = stack_bytes}, NULL));
    for (int round = 0; round < 40; ++round) {
        spin(480000);
        if (sigsetjmp(back, 1) == 0) sink(1);
        CHECK(deepest > 20 && deepest < limit_bytes / 4096 + 1);
    }
    printf("ok\n");
}

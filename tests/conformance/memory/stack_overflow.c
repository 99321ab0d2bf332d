// A process that runs over its stack's limit gets SIGSEGV near the stack pointer.
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

#include "check.h"

static sigjmp_buf back;
static char* volatile fault;
static char handler_stack[65536];
static volatile int deepest = -1;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    fault = info->si_addr;
    siglongjmp(back, 1);
}

static char* volatile lowest;

static int recurse(int depth) {
    volatile char frame[2048];
    if (depth == deepest) return 0;
    lowest = (char*)frame;
    frame[0] = (char)depth;
    return recurse(depth + 1) + frame[0];
}

int main(void) {
    const struct rlimit small = {1 << 20, 1 << 20};
    CALL(setrlimit(RLIMIT_STACK, &small));
    const stack_t other = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    CALL(sigaltstack(&other, NULL));
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    CALL(sigaction(SIGSEGV, &action, NULL));
    for (int round = 0; round < 30; ++round) {
        fault = NULL;
        if (sigsetjmp(back, 1) == 0) recurse(0);
        CHECK(fault && fault < lowest + 4096 && fault > lowest - 8192);
        spin(80000);
    }
    puts("ok");
}

// A program that sets its own trap flag gets SIGTRAP after each instruction until it clears it.
#include <signal.h>
#include <ucontext.h>

#include "check.h"

static volatile sig_atomic_t steps;

static void on_step(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGTRAP && info->si_code == TRAP_TRACE);
    ++steps;
}

// The instructions between the two POPFs are stepped, and the second POPF.
__attribute__((noinline)) static void step(void) {
    __asm__ volatile(
        "sub $128, %%rsp\n\t"
        "pushfq\n\t"
        "orl $0x100, (%%rsp)\n\t"
        "popfq\n\t"
        "nop\n\t"
        "xor %%eax, %%eax\n\t"
        "mov $1, %%ecx\n\t"
        "pushfq\n\t"
        "andl $~0x100, (%%rsp)\n\t"
        "popfq\n\t"
        "nop\n\t"
        "add $128, %%rsp" ::
            : "rax", "rcx", "cc", "memory");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGTRAP, &action, NULL));
    for (int round = 1; round <= 30; ++round) {
        spin(400000);
        step();
        CHECK(steps == 6 * round);
    }
    printf("%d steps\n", steps);
}

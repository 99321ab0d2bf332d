// A breakpoint instruction of the program's own raises SIGTRAP after the instruction.
#include <signal.h>
#include <ucontext.h>

#include "check.h"

extern char behind_breakpoint[];
static volatile sig_atomic_t handled;

static void on_trap(int signal_number, siginfo_t* info, void* context) {
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(signal_number == SIGTRAP && info->si_code == SI_KERNEL);
    CHECK(registers[REG_RIP] == (greg_t)(uintptr_t)behind_breakpoint);
    ++handled;
}

__attribute__((noinline)) static void execute(void) {
    __asm__ volatile("int3\n.globl behind_breakpoint\nbehind_breakpoint:");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGTRAP, &action, NULL));
    for (int round = 1; round <= 100; ++round) {
        spin(400000);
        execute();
        CHECK(handled == round);
    }
    printf("ok\n");
}

// An undefined instruction raises SIGILL with its address, and a handler can skip it.
#include <signal.h>
#include <ucontext.h>

#include "check.h"

extern char undefined[];
static volatile sig_atomic_t handled;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(signal_number == SIGILL && info->si_code == ILL_ILLOPN);
    CHECK(info->si_addr == undefined && registers[REG_RIP] == (greg_t)(uintptr_t)undefined);
    registers[REG_RIP] += 2;
    ++handled;
}

__attribute__((noinline)) static void execute(void) {
    __asm__ volatile(".globl undefined\nundefined: ud2");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGILL, &action, NULL));
    for (int round = 1; round <= 100; ++round) {
        spin(400000);
        execute();
        CHECK(handled == round);
    }
    printf("ok\n");
}

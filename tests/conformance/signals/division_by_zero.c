// A division by zero raises SIGFPE at the instruction, which a handler can skip.
#include <signal.h>
#include <ucontext.h>

#include "check.h"

extern char division[], behind_division[];
static volatile sig_atomic_t handled;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(signal_number == SIGFPE && info->si_code == FPE_INTDIV);
    CHECK(info->si_addr == division && registers[REG_RIP] == (greg_t)(uintptr_t)division);
    CHECK(registers[REG_RAX] == 77 && registers[REG_RCX] == 0);
    registers[REG_RIP] = (greg_t)(uintptr_t)behind_division;
    registers[REG_RAX] = 1000 + handled;
    ++handled;
}

__attribute__((noinline)) static long divide(void) {
    long quotient = 77;
    __asm__ volatile(
        "xor %%edx, %%edx\n\t"
        "xor %%ecx, %%ecx\n"
        ".globl division\ndivision: idiv %%rcx\n"
        ".globl behind_division\nbehind_division:"
        : "+a"(quotient)
        :
        : "rdx", "rcx", "cc");
    return quotient;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGFPE, &action, NULL));
    for (int round = 0; round < 100; ++round) {
        spin(400000);
        CHECK(divide() == 1000 + round);
    }
    printf("ok\n");
}

// Register values that a handler stores in its context are in the registers after it returns.
#include <signal.h>
#include <ucontext.h>

#include "check.h"

static void change(int signal_number, siginfo_t* info, void* context) {
    (void)signal_number;
    (void)info;
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(registers[REG_R12] == 0x1111222233334444 && registers[REG_R13] == 5);
    registers[REG_R12] = ~registers[REG_R12];
    registers[REG_RDX] = 0x123456789abcdef0;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = change, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGILL, &action, NULL));
    for (int round = 0; round < 100; ++round) {
        spin(400000);
        uint64_t changed, added;
        __asm__ volatile(
            "movabs $0x1111222233334444, %%r12\n\t"
            "mov $5, %%r13d\n\t"
            "mov $39, %%eax\n\t"
            "syscall\n\t"  // getpid
            "mov %%eax, %%edi\n\t"
            "mov $4, %%esi\n\t"
            "mov $62, %%eax\n\t"
            "syscall\n\t"  // kill(getpid(), SIGILL)
            "mov %%r12, %0\n\t"
            "mov %%rdx, %1"
            : "=r"(changed), "=r"(added)
            :
            : "r12", "r13", "rax", "rdi", "rsi", "rdx", "rcx", "r11", "memory");
        CHECK(changed == ~0x1111222233334444u && added == 0x123456789abcdef0);
    }
    printf("ok\n");
}

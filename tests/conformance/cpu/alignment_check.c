// With the flag AC set an unaligned access raises SIGBUS, and an aligned one does not.
#include <signal.h>
#include <ucontext.h>

#include "check.h"

static volatile sig_atomic_t faults;

// The handler is entered with AC set.
static void on_fault(int signal_number, siginfo_t* info, void* context) {
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(signal_number == SIGBUS && info->si_code == BUS_ADRALN);
    registers[REG_EFL] &= ~0x40000;
    registers[REG_RIP] += 2;
    registers[REG_RAX] = 1;
    ++faults;
}

// Reads with the flag set for no longer than needed: the C library is full of unaligned accesses.
__attribute__((noinline)) static uint32_t read_checked(const void* at, uint64_t rounds) {
    uint32_t value;
    __asm__ volatile(
        "sub $128, %%rsp\n\t"
        "pushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n"
        "1: dec %%rcx\n\tjnz 1b\n\t"
        "mov (%%rsi), %%eax\n\t"
        "pushfq\n\tandl $~0x40000, (%%rsp)\n\tpopfq\n\t"
        "add $128, %%rsp"
        : "=a"(value), "+S"(at), "+c"(rounds)
        :
        : "memory", "cc");
    return value;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGBUS, &action, NULL));
    static const uint32_t words[2] = {0x01020304, 0x05060708};
    for (int round = 0; round < 60; ++round) {
        CHECK(read_checked(&words[1], 500000) == 0x05060708 && faults == round);
        CHECK(read_checked((const char*)words + 1, 500000) == 1 && faults == round + 1);
    }
    printf("ok\n");
}

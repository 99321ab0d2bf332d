// Memory below the stack pointer does not change unless a signal is handled.
#include "check.h"

enum { words = 400 };

// Writes words far below the stack pointer, lets time pass, and adds them up.
__attribute__((noinline)) static uint64_t use_below(uint64_t value, uint64_t rounds) {
    uint64_t sum = 0;
    __asm__ volatile(
        "mov $400, %%ecx\n"
        "1: neg %%rcx\n\tmov %1, (%%rsp, %%rcx, 8)\n\tneg %%rcx\n\tdec %%rcx\n\tjnz 1b\n\t"
        "mov $110, %%eax\n\tmov %%rcx, %%rdi\n\tsyscall\n"
        "2: dec %2\n\tjnz 2b\n\t"
        "mov $400, %%ecx\n"
        "3: neg %%rcx\n\tadd (%%rsp, %%rcx, 8), %0\n\tneg %%rcx\n\tdec %%rcx\n\tjnz 3b"
        : "+r"(sum), "+r"(value), "+r"(rounds)
        :
        : "rax", "rcx", "rdi", "r11", "memory", "cc");
    return sum;
}

int main(void) {
    for (uint64_t round = 1; round <= 100; ++round) {
        CHECK(use_below(round, 300000) == words * round);
    }
    printf("ok\n");
}

// A far return to the same code segment goes where the stack says.
#include "check.h"

__attribute__((noinline)) static uint64_t return_far(uint64_t value) {
    __asm__ volatile(
        "sub $128, %%rsp\n\t"
        "mov %%cs, %%eax\n\t"
        "push %%rax\n\t"
        "lea 1f(%%rip), %%rax\n\t"
        "push %%rax\n\t"
        "lretq\n\t"
        "xor %0, %0\n"
        "1: add $1, %0\n\t"
        "add $128, %%rsp"
        : "+r"(value)
        :
        : "rax", "memory", "cc");
    return value;
}

int main(void) {
    for (uint64_t round = 0; round < 100; ++round) {
        spin(320000);
        CHECK(return_far(round) == round + 1);
    }
    printf("ok\n");
}

// Flags that a program sets stay set across time: direction, identification, overflow, carry.
#include "check.h"

int main(void) {
    for (uint64_t round = 0; round < 100; ++round) {
        const uint64_t wanted = (round & 1) | (round & 2 ? 0x400 : 0) | (round & 4 ? 0x200000 : 0) |
                                (round & 8 ? 0x800 : 0);
        uint64_t found, rounds = 60000;
        __asm__ volatile(
            "sub $128, %%rsp\n\t"
            "push %2\n\tpopfq\n"
            // Neither LEA nor JRCXZ changes a flag.
            "1: lea -1(%%rcx), %%rcx\n\t"
            "jrcxz 2f\n\t"
            "jmp 1b\n"
            "2: pushfq\n\tpop %0\n\tcld\n\t"
            "add $128, %%rsp"
            : "=&r"(found), "+c"(rounds)
            : "r"(wanted | 0x202)
            : "memory", "cc");
        CHECK((found & 0x200cd5) == wanted);
    }
    printf("ok\n");
}

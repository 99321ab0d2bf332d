// The mask registers of AVX-512 stay as they are across time and system calls.
#include <sys/syscall.h>

#include "check.h"

int main(void) {
    if (!__builtin_cpu_supports("avx512bw")) skip("no AVX-512BW");
    for (uint64_t round = 0; round < 80; ++round) {
        uint64_t first = 0x123456789abcdef0 + round, last = ~first, rounds = 200000;
        long result = SYS_getppid;
        __asm__ volatile(
            "kmovq %1, %%k1\n\t"
            "kmovq %2, %%k7\n\t"
            "xor %1, %1\n\t"
            "xor %2, %2\n"
            "1: dec %3\n\t"
            "jnz 1b\n\t"
            "syscall\n\t"
            "kmovq %%k1, %1\n\t"
            "kmovq %%k7, %2"
            : "+a"(result), "+r"(first), "+r"(last), "+r"(rounds)
            :
            : "rcx", "r11", "memory", "cc");
        CHECK(result >= 0);
        CHECK(first == 0x123456789abcdef0 + round && last == ~first);
    }
    printf("ok\n");
}

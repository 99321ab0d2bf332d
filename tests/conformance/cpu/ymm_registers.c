// All of YMM0 to YMM15 stay as they are across time and system calls.
#include <sys/syscall.h>

#include "check.h"

enum { bytes = 512 };

// Loads the registers, lets time pass, makes a system call, and stores them.
__attribute__((noinline)) static void pass_through(const uint8_t* in, uint8_t* out,
                                                   uint64_t rounds) {
    long result = SYS_getppid;
    __asm__ volatile(
        "vmovdqu 0(%1), %%ymm0\n\t"
        "vmovdqu 32(%1), %%ymm1\n\t"
        "vmovdqu 64(%1), %%ymm2\n\t"
        "vmovdqu 96(%1), %%ymm3\n\t"
        "vmovdqu 128(%1), %%ymm4\n\t"
        "vmovdqu 160(%1), %%ymm5\n\t"
        "vmovdqu 192(%1), %%ymm6\n\t"
        "vmovdqu 224(%1), %%ymm7\n\t"
        "vmovdqu 256(%1), %%ymm8\n\t"
        "vmovdqu 288(%1), %%ymm9\n\t"
        "vmovdqu 320(%1), %%ymm10\n\t"
        "vmovdqu 352(%1), %%ymm11\n\t"
        "vmovdqu 384(%1), %%ymm12\n\t"
        "vmovdqu 416(%1), %%ymm13\n\t"
        "vmovdqu 448(%1), %%ymm14\n\t"
        "vmovdqu 480(%1), %%ymm15\n\t"
        "1: dec %3\n\t"
        "jnz 1b\n\t"
        "syscall\n\t"
        "vmovdqu %%ymm0, 0(%2)\n\t"
        "vmovdqu %%ymm1, 32(%2)\n\t"
        "vmovdqu %%ymm2, 64(%2)\n\t"
        "vmovdqu %%ymm3, 96(%2)\n\t"
        "vmovdqu %%ymm4, 128(%2)\n\t"
        "vmovdqu %%ymm5, 160(%2)\n\t"
        "vmovdqu %%ymm6, 192(%2)\n\t"
        "vmovdqu %%ymm7, 224(%2)\n\t"
        "vmovdqu %%ymm8, 256(%2)\n\t"
        "vmovdqu %%ymm9, 288(%2)\n\t"
        "vmovdqu %%ymm10, 320(%2)\n\t"
        "vmovdqu %%ymm11, 352(%2)\n\t"
        "vmovdqu %%ymm12, 384(%2)\n\t"
        "vmovdqu %%ymm13, 416(%2)\n\t"
        "vmovdqu %%ymm14, 448(%2)\n\t"
        "vmovdqu %%ymm15, 480(%2)\n\t"
        "vzeroupper\n\t"
        : "+a"(result), "+r"(in), "+r"(out), "+r"(rounds)
        :
        : "rcx", "r11", "memory", "cc");
    CHECK(result >= 0);
}

int main(void) {
    if (!__builtin_cpu_supports("avx")) skip("no AVX");
    uint8_t in[bytes], out[bytes];
    for (int round = 0; round < 80; ++round) {
        for (int byte = 0; byte < bytes; ++byte) in[byte] = (uint8_t)(byte * 7 + round);
        memset(out, 0, sizeof out);
        pass_through(in, out, 200000);
        CHECK(memcmp(in, out, sizeof in) == 0);
    }
    printf("ok\n");
}

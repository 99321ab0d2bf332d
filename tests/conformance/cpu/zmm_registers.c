// All of ZMM0 to ZMM31 stay as they are across time and system calls.
#include <sys/syscall.h>

#include "check.h"

enum { bytes = 2048 };

// Loads the registers, lets time pass, makes a system call, and stores them.
__attribute__((noinline)) static void pass_through(const uint8_t* in, uint8_t* out,
                                                   uint64_t rounds) {
    long result = SYS_getppid;
    __asm__ volatile(
        "vmovdqu64 0(%1), %%zmm0\n\t"
        "vmovdqu64 64(%1), %%zmm1\n\t"
        "vmovdqu64 128(%1), %%zmm2\n\t"
        "vmovdqu64 192(%1), %%zmm3\n\t"
        "vmovdqu64 256(%1), %%zmm4\n\t"
        "vmovdqu64 320(%1), %%zmm5\n\t"
        "vmovdqu64 384(%1), %%zmm6\n\t"
        "vmovdqu64 448(%1), %%zmm7\n\t"
        "vmovdqu64 512(%1), %%zmm8\n\t"
        "vmovdqu64 576(%1), %%zmm9\n\t"
        "vmovdqu64 640(%1), %%zmm10\n\t"
        "vmovdqu64 704(%1), %%zmm11\n\t"
        "vmovdqu64 768(%1), %%zmm12\n\t"
        "vmovdqu64 832(%1), %%zmm13\n\t"
        "vmovdqu64 896(%1), %%zmm14\n\t"
        "vmovdqu64 960(%1), %%zmm15\n\t"
        "vmovdqu64 1024(%1), %%zmm16\n\t"
        "vmovdqu64 1088(%1), %%zmm17\n\t"
        "vmovdqu64 1152(%1), %%zmm18\n\t"
        "vmovdqu64 1216(%1), %%zmm19\n\t"
        "vmovdqu64 1280(%1), %%zmm20\n\t"
        "vmovdqu64 1344(%1), %%zmm21\n\t"
        "vmovdqu64 1408(%1), %%zmm22\n\t"
        "vmovdqu64 1472(%1), %%zmm23\n\t"
        "vmovdqu64 1536(%1), %%zmm24\n\t"
        "vmovdqu64 1600(%1), %%zmm25\n\t"
        "vmovdqu64 1664(%1), %%zmm26\n\t"
        "vmovdqu64 1728(%1), %%zmm27\n\t"
        "vmovdqu64 1792(%1), %%zmm28\n\t"
        "vmovdqu64 1856(%1), %%zmm29\n\t"
        "vmovdqu64 1920(%1), %%zmm30\n\t"
        "vmovdqu64 1984(%1), %%zmm31\n\t"
        "1: dec %3\n\t"
        "jnz 1b\n\t"
        "syscall\n\t"
        "vmovdqu64 %%zmm0, 0(%2)\n\t"
        "vmovdqu64 %%zmm1, 64(%2)\n\t"
        "vmovdqu64 %%zmm2, 128(%2)\n\t"
        "vmovdqu64 %%zmm3, 192(%2)\n\t"
        "vmovdqu64 %%zmm4, 256(%2)\n\t"
        "vmovdqu64 %%zmm5, 320(%2)\n\t"
        "vmovdqu64 %%zmm6, 384(%2)\n\t"
        "vmovdqu64 %%zmm7, 448(%2)\n\t"
        "vmovdqu64 %%zmm8, 512(%2)\n\t"
        "vmovdqu64 %%zmm9, 576(%2)\n\t"
        "vmovdqu64 %%zmm10, 640(%2)\n\t"
        "vmovdqu64 %%zmm11, 704(%2)\n\t"
        "vmovdqu64 %%zmm12, 768(%2)\n\t"
        "vmovdqu64 %%zmm13, 832(%2)\n\t"
        "vmovdqu64 %%zmm14, 896(%2)\n\t"
        "vmovdqu64 %%zmm15, 960(%2)\n\t"
        "vmovdqu64 %%zmm16, 1024(%2)\n\t"
        "vmovdqu64 %%zmm17, 1088(%2)\n\t"
        "vmovdqu64 %%zmm18, 1152(%2)\n\t"
        "vmovdqu64 %%zmm19, 1216(%2)\n\t"
        "vmovdqu64 %%zmm20, 1280(%2)\n\t"
        "vmovdqu64 %%zmm21, 1344(%2)\n\t"
        "vmovdqu64 %%zmm22, 1408(%2)\n\t"
        "vmovdqu64 %%zmm23, 1472(%2)\n\t"
        "vmovdqu64 %%zmm24, 1536(%2)\n\t"
        "vmovdqu64 %%zmm25, 1600(%2)\n\t"
        "vmovdqu64 %%zmm26, 1664(%2)\n\t"
        "vmovdqu64 %%zmm27, 1728(%2)\n\t"
        "vmovdqu64 %%zmm28, 1792(%2)\n\t"
        "vmovdqu64 %%zmm29, 1856(%2)\n\t"
        "vmovdqu64 %%zmm30, 1920(%2)\n\t"
        "vmovdqu64 %%zmm31, 1984(%2)\n\t"
        "vzeroupper\n\t"
        : "+a"(result), "+r"(in), "+r"(out), "+r"(rounds)
        :
        : "rcx", "r11", "memory", "cc");
    CHECK(result >= 0);
}

int main(void) {
    if (!__builtin_cpu_supports("avx512f")) skip("no AVX-512");
    uint8_t in[bytes], out[bytes];
    for (int round = 0; round < 80; ++round) {
        for (int byte = 0; byte < bytes; ++byte) in[byte] = (uint8_t)(byte * 7 + round);
        memset(out, 0, sizeof out);
        pass_through(in, out, 200000);
        CHECK(memcmp(in, out, sizeof in) == 0);
    }
    printf("ok\n");
}

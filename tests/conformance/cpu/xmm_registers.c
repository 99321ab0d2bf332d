// All of XMM0 to XMM15 stay as they are across time and system calls.
#include <sys/syscall.h>

#include "check.h"

enum { bytes = 256 };

// Loads the registers, lets time pass, makes a system call, and stores them.
__attribute__((noinline)) static void pass_through(const uint8_t* in, uint8_t* out,
                                                   uint64_t rounds) {
    long result = SYS_getppid;
    __asm__ volatile(
        "movdqu 0(%1), %%xmm0\n\t"
        "movdqu 16(%1), %%xmm1\n\t"
        "movdqu 32(%1), %%xmm2\n\t"
        "movdqu 48(%1), %%xmm3\n\t"
        "movdqu 64(%1), %%xmm4\n\t"
        "movdqu 80(%1), %%xmm5\n\t"
        "movdqu 96(%1), %%xmm6\n\t"
        "movdqu 112(%1), %%xmm7\n\t"
        "movdqu 128(%1), %%xmm8\n\t"
        "movdqu 144(%1), %%xmm9\n\t"
        "movdqu 160(%1), %%xmm10\n\t"
        "movdqu 176(%1), %%xmm11\n\t"
        "movdqu 192(%1), %%xmm12\n\t"
        "movdqu 208(%1), %%xmm13\n\t"
        "movdqu 224(%1), %%xmm14\n\t"
        "movdqu 240(%1), %%xmm15\n\t"
        "1: dec %3\n\t"
        "jnz 1b\n\t"
        "syscall\n\t"
        "movdqu %%xmm0, 0(%2)\n\t"
        "movdqu %%xmm1, 16(%2)\n\t"
        "movdqu %%xmm2, 32(%2)\n\t"
        "movdqu %%xmm3, 48(%2)\n\t"
        "movdqu %%xmm4, 64(%2)\n\t"
        "movdqu %%xmm5, 80(%2)\n\t"
        "movdqu %%xmm6, 96(%2)\n\t"
        "movdqu %%xmm7, 112(%2)\n\t"
        "movdqu %%xmm8, 128(%2)\n\t"
        "movdqu %%xmm9, 144(%2)\n\t"
        "movdqu %%xmm10, 160(%2)\n\t"
        "movdqu %%xmm11, 176(%2)\n\t"
        "movdqu %%xmm12, 192(%2)\n\t"
        "movdqu %%xmm13, 208(%2)\n\t"
        "movdqu %%xmm14, 224(%2)\n\t"
        "movdqu %%xmm15, 240(%2)\n\t"
        : "+a"(result), "+r"(in), "+r"(out), "+r"(rounds)
        :
        : "rcx", "r11", "memory", "cc");
    CHECK(result >= 0);
}

int main(void) {
    uint8_t in[bytes], out[bytes];
    for (int round = 0; round < 80; ++round) {
        for (int byte = 0; byte < bytes; ++byte) in[byte] = (uint8_t)(byte * 7 + round);
        memset(out, 0, sizeof out);
        pass_through(in, out, 200000);
        CHECK(memcmp(in, out, sizeof in) == 0);
    }
    printf("ok\n");
}

// A system call changes RAX, RCX and R11 and no other register; RCX is the address behind it.
#include <sys/syscall.h>

#include "check.h"

int main(void) {
    for (uint64_t round = 0; round < 200; ++round) {
        uint64_t rax = SYS_getppid, rcx = 0, behind = 0, rdx = round, rsi = 2, rdi = 3;
        register uint64_t r8 __asm__("r8") = 4;
        register uint64_t r9 __asm__("r9") = 5;
        register uint64_t r10 __asm__("r10") = 6;
        register uint64_t r12 __asm__("r12") = round ^ 77;
        register uint64_t r11 __asm__("r11") = 0;
        __asm__ volatile("stc\n\tsyscall\n1: lea 1b(%%rip), %[behind]"
                         : "+a"(rax), "+c"(rcx), [behind] "=r"(behind), "+d"(rdx), "+S"(rsi),
                           "+D"(rdi), "+r"(r8), "+r"(r9), "+r"(r10), "+r"(r11), "+r"(r12)
                         :
                         : "memory", "cc");
        CHECK(rcx == behind && (r11 & 0x101) == 1);
        CHECK(rdx == round && rsi == 2 && rdi == 3);
        CHECK(r8 == 4 && r9 == 5 && r10 == 6 && r12 == (round ^ 77));
        CHECK((pid_t)rax == getppid());
        spin(60000);
    }
    printf("ok\n");
}

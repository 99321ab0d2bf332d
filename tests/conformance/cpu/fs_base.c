// A program may temporarily have another FS base than its C library's.
#include <asm/prctl.h>
#include <sys/syscall.h>

#include "check.h"

// The C library must not be called in between: its thread-local data is not reachable.
__attribute__((noinline, optimize("no-stack-protector"))) static uint64_t with_base(
    uint64_t base, uint64_t own, uint64_t rounds) {
    uint64_t value;
    __asm__ volatile(
        "mov $158, %%eax\n\t"
        "mov $0x1002, %%edi\n\t"
        "mov %1, %%rsi\n\t"
        "syscall\n"
        "1: dec %3\n\t"
        "jnz 1b\n\t"
        "mov %%fs:16, %%r8\n\t"
        "mov $158, %%eax\n\t"
        "mov $0x1002, %%edi\n\t"
        "mov %2, %%rsi\n\t"
        "syscall\n\t"
        "mov %%r8, %0"
        : "=&r"(value), "+r"(base), "+r"(own), "+r"(rounds)
        :
        : "rax", "rdi", "rsi", "rcx", "r8", "r11", "memory", "cc");
    return value;
}

int main(void) {
    uint64_t own, area[3] = {1, 2, 0};
    CALL(syscall(SYS_arch_prctl, ARCH_GET_FS, &own));
    for (uint64_t round = 0; round < 100; ++round) {
        area[2] = round;
        CHECK(with_base((uintptr_t)area, own, 60000) == round);
        errno = 5;
        CHECK(errno == 5);
    }
    printf("ok\n");
}

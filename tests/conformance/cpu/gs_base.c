// A GS base that a program sets stays set, and is where GS-relative memory is.
#include <asm/prctl.h>
#include <sys/syscall.h>

#include "check.h"

static uint64_t of_gs(void) {
    uint64_t value;
    __asm__ volatile("mov %%gs:8, %0" : "=r"(value)::"memory");
    return value;
}

int main(void) {
    uint64_t areas[4][2];
    for (uint64_t area = 0; area < 4; ++area) areas[area][1] = 1000 + area;
    for (int round = 0; round < 100; ++round) {
        uint64_t* area = areas[round % 4];
        CALL(syscall(SYS_arch_prctl, ARCH_SET_GS, area));
        spin(320000);
        CHECK(of_gs() == area[1]);
        __asm__ volatile("incq %%gs:8" ::: "memory", "cc");
        uint64_t base = 0;
        CALL(syscall(SYS_arch_prctl, ARCH_GET_GS, &base));
        CHECK(base == (uintptr_t)area);
    }
    CHECK(areas[0][1] == 1025 && areas[3][1] == 1028);
    CALL(syscall(SYS_arch_prctl, ARCH_SET_GS, 0));
    printf("ok\n");
}

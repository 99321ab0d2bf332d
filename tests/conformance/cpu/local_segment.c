// A segment of the local descriptor table can be loaded into GS and has its own base.
// known-fault: exact,family,verify: a segment of a local table has no base in the emulator
// flags: -no-pie
#include <asm/ldt.h>
#include <sys/syscall.h>

#include "check.h"

static volatile uint32_t area[8] __attribute__((aligned(16)));

int main(void) {
    // A base has 32 bits.
    struct user_desc segment = {
        .entry_number = 1, .limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1, .useable = 1};
    segment.base_addr = (uint32_t)(uintptr_t)area;
    if (segment.base_addr != (uintptr_t)area) skip("the program is not linked low");
    if (syscall(SYS_modify_ldt, 1, &segment, sizeof segment) != 0) skip("no local segments");
    for (uint32_t round = 0; round < 60; ++round) {
        const uint16_t selector = 1 << 3 | 7;
        uint16_t found;
        uint32_t value;
        area[2] = round;
        __asm__ volatile("mov %0, %%gs" ::"r"(selector));
        spin(400000);
        __asm__ volatile("mov %%gs:8, %0\n\tmov %%gs, %1" : "=r"(value), "=r"(found));
        CHECK(value == round && found == selector);
        __asm__ volatile("mov %0, %%gs" ::"r"((uint16_t)0));
    }
    printf("ok\n");
}

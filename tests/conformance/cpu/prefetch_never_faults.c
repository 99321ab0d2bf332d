// A prefetch of unmapped memory does nothing.
#include "check.h"

int main(void) {
    const uintptr_t addresses[] = {0, 0x1000, 0x7ffffffff000, 0x8000000000000000,
                                   0xffffffffff600000};
    for (unsigned round = 0; round < 100; ++round) {
        spin(320000);
        const void* at = (const void*)addresses[round % 5];
        __builtin_prefetch(at, 0, 3);
        __builtin_prefetch(at, 0, 0);
        __asm__ volatile("prefetchw (%0)" ::"r"(at));
    }
    printf("ok\n");
}

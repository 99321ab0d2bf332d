// A child begins with its parent's rounding, exception masks and vector registers.
#include <immintrin.h>

#include "child.h"

static uint16_t control_word(void) {
    uint16_t word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

int main(void) {
    const uint16_t usual = control_word();
    for (int round = 0; round < 50; ++round) {
        const uint16_t control = (uint16_t)(usual & ~0xc00) | (uint16_t)((round % 4) << 10);
        const unsigned mxcsr = 0x1f80u | (unsigned)((round + 1) % 4) << 13;
        __asm__ volatile("fldcw %0" : : "m"(control));
        _mm_setcsr(mxcsr);
        const pid_t child = CALL(fork());
        const unsigned here = _mm_getcsr();
        const uint16_t word = control_word();
        spin(30000);
        if (child == 0) _exit(here == mxcsr && word == control ? 0 : 1);
        CHECK(here == mxcsr && word == control);
        CHECK(_mm_getcsr() == mxcsr && control_word() == control);
        expect_exit(child, 0);
    }
    puts("ok");
}

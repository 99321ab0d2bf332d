// Each thread has its own rounding mode, inherited from its creator and kept at every switch.
#include <immintrin.h>
#include <pthread.h>

#include "check.h"

static unsigned x87_mode(void) {
    uint16_t word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word & 0xc00u;
}

static void set_modes(unsigned mode) {
    uint16_t word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    word = (uint16_t)((word & ~0xc00u) | mode << 10);
    __asm__ volatile("fldcw %0" : : "m"(word));
    _mm_setcsr((_mm_getcsr() & ~0x6000u) | mode << 13);
}

static int have_modes(unsigned mode) {
    return x87_mode() == mode << 10 && (_mm_getcsr() & 0x6000u) == mode << 13;
}

static void* body(void* argument) {
    const unsigned own = *(unsigned*)argument;
    CHECK(have_modes(2));
    set_modes(own);
    volatile double one = 1, ten = 10, third = 3;
    const double quotient = one / ten;
    const double other = -(one / third);
    for (int round = 0; round < 150; ++round) {
        spin(20000);
        CHECK(have_modes(own));
        CHECK(one / ten == quotient && -(one / third) == other);
    }
    return NULL;
}

int main(void) {
    set_modes(2);
    unsigned modes[4] = {0, 1, 2, 3};
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) CHECK(!pthread_create(&threads[i], NULL, body, &modes[i]));
    for (int i = 0; i < 4; ++i) CHECK(!pthread_join(threads[i], NULL));
    CHECK(have_modes(2));
    puts("ok");
}

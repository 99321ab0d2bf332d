// The rounding mode in MXCSR survives time and handlers; handlers begin with the default.
#include <signal.h>

#include "check.h"

static uint32_t mxcsr(void) {
    return __builtin_ia32_stmxcsr() & ~0x3fu;
}

static void look(int signal_number) {
    (void)signal_number;
    CHECK(mxcsr() == 0x1f80);
    __builtin_ia32_ldmxcsr(0x7f80);
}

// Rounds in the direction that MXCSR says.
__attribute__((noinline)) static double third(void) {
    volatile double one = 1, three = 3;
    return one / three;
}

int main(void) {
    CHECK(signal(SIGUSR1, look) != SIG_ERR);
    const double down = 0x1.5555555555555p-2, up = 0x1.5555555555556p-2;
    for (unsigned round = 0; round < 100; ++round) {
        const uint32_t wanted = 0x1f80 | (round % 4) << 13 | (round % 2 ? 0x8040 : 0);
        __builtin_ia32_ldmxcsr(wanted);
        spin(320000);
        CHECK(third() == (round % 4 == 2 ? up : down));
        CALL(raise(SIGUSR1));
        CHECK(mxcsr() == (wanted & ~0x3fu));
        CHECK(third() == (round % 4 == 2 ? up : down));
    }
    printf("ok\n");
}

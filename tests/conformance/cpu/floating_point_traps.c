// Unmasked floating-point exceptions of SSE and the x87 raise SIGFPE, which names the exception.
#include <setjmp.h>
#include <signal.h>

#include "check.h"

static sigjmp_buf back;
static int expected_code;
static volatile sig_atomic_t faults;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGFPE && info->si_code == expected_code);
    ++faults;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGFPE, &action, NULL));
    for (volatile int round = 0; round < 60; ++round) {
        spin(320000);
        expected_code = round % 2 ? FPE_FLTINV : FPE_FLTDIV;
        volatile double over = round % 2 ? 0 : 1, zero = 0;
        volatile long double long_over = over;
        if (sigsetjmp(back, 1) == 0) {
            uint16_t control = 0x360;
            __asm__ volatile("fnclex\n\tfldcw %0" ::"m"(control));
            __builtin_ia32_ldmxcsr(0x1f80 & ~0x280u);
            if (round % 4 < 2) {
                over = over / zero;
            } else {
                long_over = long_over / zero;
                __asm__ volatile("fwait");
            }
            CHECK(!"a fault");
        }
        __asm__ volatile("fninit");
        __builtin_ia32_ldmxcsr(0x1f80);
    }
    CHECK(faults == 60);
    printf("ok\n");
}

// SMSW always stores the same value, with the protected-mode bit set.
#include <setjmp.h>
#include <signal.h>

#include "check.h"

static sigjmp_buf back;

static void on_fault(int signal_number) {
    (void)signal_number;
    siglongjmp(back, 1);
}

int main(void) {
    CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
    if (sigsetjmp(back, 1) != 0) skip("SMSW is forbidden");
    for (int round = 0; round < 100; ++round) {
        uint32_t word = 0;
        spin(320000);
        __asm__ volatile("smsw %0" : "=r"(word));
        CHECK((word & 0x11) == 0x11);
    }
    printf("ok\n");
}

// Non-canonical addresses and privileged instructions raise SIGSEGV without an address.
#include <setjmp.h>
#include <signal.h>

#include "check.h"

static sigjmp_buf back;
static volatile sig_atomic_t faults;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGSEGV && info->si_code == SI_KERNEL && info->si_addr == NULL);
    ++faults;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    for (volatile int round = 0; round < 90; ++round) {
        spin(320000);
        if (sigsetjmp(back, 1) != 0) continue;
        if (round % 3 == 0) {
            (void)*(volatile char*)(uintptr_t)0x8000000000000000;
        } else if (round % 3 == 1) {
            __asm__ volatile("hlt");
        } else {
            __asm__ volatile("in $0x80, %%al" ::: "eax");
        }
        CHECK(!"a fault");
    }
    CHECK(faults == 90);
    printf("ok\n");
}

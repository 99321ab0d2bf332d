// A handler's context has the vector registers, and its changes to them take effect.
#include <signal.h>
#include <ucontext.h>

#include "check.h"

static void change(int signal_number, siginfo_t* info, void* context) {
    (void)signal_number;
    (void)info;
    uint32_t* xmm5 = ((ucontext_t*)context)->uc_mcontext.fpregs->_xmm[5].element;
    for (int lane = 0; lane < 4; ++lane) {
        CHECK(xmm5[lane] == 0x01010101u * (unsigned)(lane + 1));
        xmm5[lane] += 0x10000000;
    }
    __asm__ volatile("pxor %%xmm5, %%xmm5" ::: "xmm5");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = change, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGUSR1, &action, NULL));
    const pid_t self = getpid();
    for (int round = 0; round < 100; ++round) {
        spin(400000);
        uint32_t lanes[4] = {0x01010101, 0x02020202, 0x03030303, 0x04040404};
        long result = 62;  // kill
        __asm__ volatile(
            "movdqu (%1), %%xmm5\n\t"
            "syscall\n\t"
            "movdqu %%xmm5, (%1)"
            : "+a"(result)
            : "r"(lanes), "D"((long)self), "S"((long)SIGUSR1)
            : "rcx", "r11", "xmm5", "memory");
        CHECK(result == 0);
        for (unsigned lane = 0; lane < 4; ++lane) {
            CHECK(lanes[lane] == 0x01010101u * (lane + 1) + 0x10000000);
        }
    }
    printf("ok\n");
}

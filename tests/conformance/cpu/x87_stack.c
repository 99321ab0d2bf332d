// Values of 80 bits stay in the x87 stack across time, system calls and handlers.
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void disturb(int signal_number) {
    (void)signal_number;
    __asm__ volatile("fninit\n\tfldpi\n\tfldl2e\n\tfaddp");
    __asm__ volatile("fninit");
    ++handled;
}

int main(void) {
    CHECK(signal(SIGUSR1, disturb) != SIG_ERR);
    const pid_t self = getpid();
    for (int round = 1; round <= 60; ++round) {
        long double values[3];
        uint64_t rounds = 50000;
        long result = 62;  // kill
        __asm__ volatile(
            "fldpi\n\tfldl2t\n\tfldlg2\n"
            "1: dec %4\n\tjnz 1b\n\t"
            "syscall\n\t"
            "fstpt (%3)\n\tfstpt 16(%3)\n\tfstpt 32(%3)"
            : "+a"(result)
            : "D"((long)self), "S"((long)SIGUSR1), "r"(values), "r"(rounds)
            : "rcx", "r11", "memory", "cc");
        CHECK(result == 0 && handled == round);
        uint8_t pi[10];
        memcpy(pi, &values[2], sizeof pi);
        CHECK(memcmp(pi, "\x35\xc2\x68\x21\xa2\xda\x0f\xc9\x00\x40", 10) == 0);
        CHECK(values[0] > 0.30102999L && values[0] < 0.30103L);
        CHECK(values[1] > 3.32192809L && values[1] < 3.3219281L);
    }
    printf("ok\n");
}

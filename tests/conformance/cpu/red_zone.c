// The 128 bytes below the stack pointer are a program's own, signals or not.
#include <signal.h>
#include <sys/time.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void disturb(int signal_number) {
    volatile char frame[512];
    (void)signal_number;
    memset((char*)frame, 0x5a, sizeof frame);
    ++handled;
}

// Writes 16 words below the stack pointer, lets time pass, and adds them up.
__attribute__((noinline)) static uint64_t use_red_zone(uint64_t value, uint64_t rounds) {
    uint64_t sum = 0;
    __asm__ volatile(
        "mov $16, %%ecx\n"
        "1: neg %%rcx\n\tmov %1, (%%rsp, %%rcx, 8)\n\tneg %%rcx\n\tdec %%rcx\n\tjnz 1b\n"
        "2: dec %2\n\tjnz 2b\n\t"
        "mov $16, %%ecx\n"
        "3: neg %%rcx\n\tadd (%%rsp, %%rcx, 8), %0\n\tneg %%rcx\n\tdec %%rcx\n\tjnz 3b"
        : "+r"(sum), "+r"(value), "+r"(rounds)
        :
        : "rcx", "memory", "cc");
    return sum;
}

int main(void) {
    CHECK(signal(SIGALRM, disturb) != SIG_ERR);
    const struct itimerval timer = {{0, 1700}, {0, 1700}};
    CALL(setitimer(ITIMER_REAL, &timer, NULL));
    for (uint64_t round = 1; round <= 60 || handled < 5; ++round) {
        CHECK(use_red_zone(round, 300000) == 16 * round);
    }
    CALL(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL));
    printf("ok\n");
}

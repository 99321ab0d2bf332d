// A signal that comes at any moment changes no register of what it interrupts.
#include <signal.h>
#include <sys/time.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void disturb(int signal_number) {
    (void)signal_number;
    __asm__ volatile(
        "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t"
        "xor %%esi, %%esi\n\txor %%edi, %%edi\n\tpxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7" ::
            : "r8", "r9", "r10", "r11", "rsi", "rdi", "xmm6", "xmm7", "cc");
    ++handled;
}

// Adds up in many registers at once; returns their sum.
__attribute__((noinline)) static uint64_t add_up(uint64_t rounds) {
    uint64_t sum;
    __asm__ volatile(
        "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t"
        "xor %%esi, %%esi\n\tpxor %%xmm6, %%xmm6\n\tmov $1, %%eax\n\tmovq %%rax, %%xmm7\n"
        "1: add $1, %%r8\n\tadd $2, %%r9\n\tadd $3, %%r10\n\tadd $4, %%r11\n\tadc $5, %%rsi\n\t"
        "paddq %%xmm7, %%xmm6\n\tdec %1\n\tjnz 1b\n\t"
        "movq %%xmm6, %0\n\tadd %%r8, %0\n\tadd %%r9, %0\n\tadd %%r10, %0\n\tadd %%r11, %0\n\t"
        "add %%rsi, %0"
        : "=&r"(sum), "+r"(rounds)
        :
        : "rax", "r8", "r9", "r10", "r11", "rsi", "xmm6", "xmm7", "cc");
    return sum;
}

int main(void) {
    CHECK(signal(SIGALRM, disturb) != SIG_ERR);
    struct itimerval timer = {.it_value.tv_usec = 1500, .it_interval.tv_usec = 1500};
    CALL(setitimer(ITIMER_REAL, &timer, NULL));
    while (handled < 20) CHECK(add_up(200000) == 16 * 200000);
    CALL(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL));
    printf("ok\n");
}

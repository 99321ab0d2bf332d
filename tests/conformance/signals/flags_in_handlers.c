// A handler starts with a clear direction flag, and the interrupted code gets its own flag back.
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void look(int signal_number) {
    uint64_t flags;
    (void)signal_number;
    __asm__ volatile("pushfq\n\tpop %0" : "=r"(flags)::"memory");
    CHECK((flags & 0x400) == 0);
    ++handled;
}

int main(void) {
    CHECK(signal(SIGUSR1, look) != SIG_ERR);
    const pid_t self = getpid();
    for (int round = 1; round <= 100; ++round) {
        spin(400000);
        long result = 62;  // kill
        uint64_t flags;
        __asm__ volatile(
            "std\n\tstc\n\t"
            "syscall\n\t"
            "pushfq\n\tpop %1\n\tcld"
            : "+a"(result), "=&r"(flags)
            : "D"((long)self), "S"((long)SIGUSR1)
            : "rcx", "r11", "memory", "cc");
        CHECK(result == 0 && handled == round);
        CHECK((flags & 0x401) == 0x401);
    }
    printf("ok\n");
}

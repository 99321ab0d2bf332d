// The x87 control word stays as set: across time, system calls, handlers and in children.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static uint16_t control_word(void) {
    uint16_t word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

static void look(int signal_number) {
    (void)signal_number;
    CHECK(control_word() == 0x37f);
    const uint16_t other = 0x77f;
    __asm__ volatile("fldcw %0" ::"m"(other));
}

int main(void) {
    CHECK(signal(SIGUSR1, look) != SIG_ERR);
    for (unsigned round = 0; round < 60; ++round) {
        const uint16_t wanted = (uint16_t)(0x7f | (round % 4) << 10 | (round % 2 ? 0x200 : 0x300));
        __asm__ volatile("fldcw %0" ::"m"(wanted));
        spin(320000);
        CHECK(control_word() == wanted);
        CALL(raise(SIGUSR1));
        CHECK(control_word() == wanted);
        if (round % 6 != 0) continue;
        const pid_t child = CALL(fork());
        if (child == 0) _exit(control_word() != wanted);
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    printf("ok\n");
}

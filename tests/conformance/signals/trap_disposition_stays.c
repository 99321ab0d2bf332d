// The action of SIGTRAP stays as set, whatever instructions are executed.
#include <cpuid.h>
#include <signal.h>

#include "check.h"

static void never(int signal_number) {
    CHECK(signal_number == 0);
}

// Executes instructions that are rare, or whose results depend on the machine.
static void execute_special(void) {
    unsigned a, b, c, d;
    __cpuid(0, a, b, c, d);
    CHECK(a > 0);
    __builtin_ia32_rdtsc();
    __asm__ volatile("mov %%ds, %%eax\n\tmov %%fs, %%eax" ::: "eax");
    __asm__ volatile("push %%rbx\n\txlatb\n\tpop %%rbx" : "=a"(a) : "a"(0), "b"(&d) : "memory");
}

static void check_disposition(void (*handler)(int), int blocked) {
    struct sigaction found;
    sigset_t mask;
    CALL(sigaction(SIGTRAP, NULL, &found));
    CALL(sigprocmask(SIG_SETMASK, NULL, &mask));
    CHECK(found.sa_handler == handler && sigismember(&mask, SIGTRAP) == blocked);
}

int main(void) {
    void (*handlers[])(int) = {SIG_DFL, SIG_IGN, never};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    for (int round = 0; round < 60; ++round) {
        const int blocked = round % 2;
        CALL(sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL));
        CHECK(signal(SIGTRAP, handlers[round % 3]) != SIG_ERR);
        spin(240000);
        execute_special();
        spin(240000);
        check_disposition(handlers[round % 3], blocked);
    }
    printf("ok\n");
}

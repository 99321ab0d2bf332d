// A fault's siginfo has the address, and distinguishes unmapped memory from wrong permissions.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static volatile uintptr_t address;
static volatile sig_atomic_t code;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    (void)context;
    CHECK(signal_number == SIGSEGV);
    address = (uintptr_t)info->si_addr;
    code = info->si_code;
    siglongjmp(back, 1);
}

static void check_fault(volatile char* at, int writes, int wanted_code) {
    if (sigsetjmp(back, 1) == 0) {
        if (writes) {
            *at = 1;
        } else {
            (void)*at;
        }
        CHECK(!"a fault");
    }
    CHECK(address == (uintptr_t)at && code == wanted_code);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    const int private = MAP_PRIVATE | MAP_ANONYMOUS;
    char* memory = mmap(NULL, 3 * 4096, PROT_READ, private, -1, 0);
    CHECK(memory != MAP_FAILED);
    CALL(mprotect(memory + 4096, 4096, PROT_NONE));
    CALL(munmap(memory + 2 * 4096, 4096));
    for (int round = 0; round < 60; ++round) {
        spin(400000);
        check_fault(memory + round, 1, SEGV_ACCERR);
        check_fault(memory + 4096 + round, 0, SEGV_ACCERR);
        check_fault(memory + 2 * 4096 + round, round % 2, SEGV_MAPERR);
        check_fault((char*)(uintptr_t)round, 1, SEGV_MAPERR);
    }
    printf("ok\n");
}

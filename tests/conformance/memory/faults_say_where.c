// SIGSEGV gives the address and the reason: no mapping, or no permission.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static volatile siginfo_t last;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    last = *info;
    siglongjmp(back, 1);
}

static void expect(volatile char* address, int write, int code) {
    if (sigsetjmp(back, 1) == 0) {
        if (write)
            *address = 1;
        else
            CHECK(*address == 123);
        CHECK(!"no fault");
    }
    CHECK(last.si_signo == SIGSEGV && last.si_code == code && last.si_addr == address);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    char* area = mmap(NULL, 4 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    CALL(mprotect(area + 4096, 4096, PROT_NONE));
    CALL(munmap(area + 2 * 4096, 4096));
    for (int round = 0; round < 60; ++round) {
        expect(area + round, 1, SEGV_ACCERR);
        expect(area + 4096 + round, 0, SEGV_ACCERR);
        expect(area + 2 * 4096 + round, round % 2, SEGV_MAPERR);
        spin(60000);
    }
    puts("ok");
}

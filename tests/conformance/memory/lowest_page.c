// The lowest page that may be mapped can be used like any other; reads of address 0 fault.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static void* volatile fault;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    fault = info->si_addr;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    for (int round = 0; round < 60; ++round) {
        char* const lowest = (char*)0x10000;
        volatile char* page = mmap(lowest, 4096, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (page == MAP_FAILED && errno == EPERM) skip("the lowest page may not be mapped");
        CHECK(page == lowest);
        *page = (char)round;
        spin(200000);
        CHECK(*page == (char)round);
        fault = (void*)1;
        if (sigsetjmp(back, 1) == 0) {
            volatile char* volatile nothing = (char*)(uintptr_t)(round % 2 * 8);
            CHECK(*nothing == 77);
        }
        CHECK((uintptr_t)fault == (uintptr_t)(round % 2 * 8));
        CALL(munmap((char*)page, 4096));
    }
    puts("ok");
}

// Pages without PROT_EXEC do not execute: a call faults at the called address.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;
static void* volatile fault;
static volatile int code_of_fault;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    fault = info->si_addr;
    code_of_fault = info->si_code;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    unsigned char* page =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
    memcpy(page, code, sizeof code);
    int (*volatile function)(void) = (int (*)(void))(uintptr_t)page;
    for (int round = 0; round < 60; ++round) {
        fault = NULL;
        CALL(mprotect(page, 4096, round % 2 ? PROT_READ : PROT_READ | PROT_WRITE));
        if (sigsetjmp(back, 1) == 0) {
            function();
            skip("a host on which all memory executes");
        }
        CHECK(fault == page && code_of_fault == SEGV_ACCERR);
        spin(120000);
        CALL(mprotect(page, 4096, PROT_READ | PROT_EXEC));
        for (int i = 0; i < 50; ++i) CHECK(function() == 42);
        CALL(mprotect(page, 4096, PROT_EXEC));
        for (int i = 0; i < 50; ++i) CHECK(function() == 42);
    }
    puts("ok");
}

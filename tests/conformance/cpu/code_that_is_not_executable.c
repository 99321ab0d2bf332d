// Executing memory that is not executable, or not mapped, raises SIGSEGV at its address.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"

static sigjmp_buf back;
static uint8_t* memory;
static int expected_code;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(signal_number == SIGSEGV && info->si_code == expected_code);
    CHECK(info->si_addr == memory && registers[REG_RIP] == (greg_t)(uintptr_t)memory);
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    for (volatile int round = 0; round < 60; ++round) {
        memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        memory[0] = 0xc3;  // ret
        expected_code = round % 2 ? SEGV_ACCERR : SEGV_MAPERR;
        if (round % 2 == 0) CALL(munmap(memory, 4096));
        spin(320000);
        if (sigsetjmp(back, 1) == 0) {
            ((void (*)(void))(uintptr_t)memory)();
            CHECK(!"a fault");
        }
        if (round % 2) CALL(munmap(memory, 4096));
    }
    printf("ok\n");
}

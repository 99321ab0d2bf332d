// An instruction on two pages faults at the second page if that is not mapped.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"

enum { page_bytes = 4096 };

static uint8_t* memory;
static volatile sig_atomic_t faults;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(signal_number == SIGSEGV && info->si_addr == memory + page_bytes);
    CHECK(registers[REG_RIP] == (greg_t)(uintptr_t)(memory + page_bytes - 3));
    CALL(mprotect(memory + page_bytes, page_bytes, PROT_READ | PROT_EXEC));
    ++faults;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    memory = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    // mov $0x12345678, %eax; ret
    memcpy(memory + page_bytes - 3, "\xb8\x78\x56\x34\x12\xc3", 6);
    if (mprotect(memory, page_bytes, PROT_READ | PROT_EXEC) != 0) skip("no code may be made");
    int (*function)(void) = (int (*)(void))(uintptr_t)(memory + page_bytes - 3);
    for (int round = 1; round <= 60; ++round) {
        CALL(mprotect(memory + page_bytes, page_bytes, PROT_READ));
        spin(320000);
        CHECK(function() == 0x12345678 && faults == round);
        CHECK(function() == 0x12345678 && faults == round);
    }
    printf("ok\n");
}

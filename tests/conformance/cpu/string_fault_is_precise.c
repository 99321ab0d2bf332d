// When a REP MOVSB reaches unmapped memory, its registers say how far it came.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"

enum { page_bytes = 4096 };

static uint64_t left_at_fault;
static char* hole;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    CHECK(signal_number == SIGSEGV && info->si_addr == hole);
    CHECK(registers[REG_RDI] == (greg_t)(uintptr_t)hole);
    left_at_fault = (uint64_t)registers[REG_RCX];
    registers[REG_RCX] = 0;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char* memory = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    CHECK(memory != MAP_FAILED);
    hole = memory + page_bytes;
    CALL(mprotect(hole, page_bytes, PROT_NONE));
    char text[page_bytes];
    memset(text, 'a', sizeof text);
    for (int round = 1; round <= 80; ++round) {
        spin(320000);
        const char* source = text;
        char* target = hole - 10 * round;
        uint64_t count = 1000 + (unsigned)round;
        __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count)::"memory");
        CHECK(left_at_fault == 1000u + (unsigned)round - 10u * (unsigned)round && count == 0);
        CHECK(hole[-1] == 'a' && source == text + 10 * round);
    }
    printf("ok\n");
}

// A rep movsb that faults at a page's border has exact registers, and goes on once the page opens.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check.h"

static char* area;
static volatile int faults;

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    const ucontext_t* state = context;
    CHECK(info->si_addr == area + 4096);
    CHECK(state->uc_mcontext.gregs[REG_RDI] == (greg_t)(uintptr_t)(area + 4096));
    CHECK(state->uc_mcontext.gregs[REG_RCX] == 100);
    ++faults;
    CALL(mprotect(area + 4096, 4096, PROT_READ | PROT_WRITE));
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    char text[300];
    for (int round = 0; round < 80; ++round) {
        memset(text, 'a' + round % 26, sizeof text);
        CALL(mprotect(area + 4096, 4096, PROT_NONE));
        void* to = area + 4096 - 200;
        const void* from = text;
        size_t count = sizeof text;
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        CHECK(faults == round + 1);
        CHECK(memcmp(area + 4096 - 200, text, sizeof text) == 0);
        spin(50000);
    }
    puts("ok");
}

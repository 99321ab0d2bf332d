// After a handler makes memory accessible, the instruction that faulted is executed again.
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

enum { pages = 60, page_bytes = 4096 };

static char* memory;
static volatile sig_atomic_t faults;

static void on_fault(int signal_number, siginfo_t* info, void* context) {
    (void)signal_number;
    (void)context;
    const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(page_bytes - 1);
    CHECK(page >= (uintptr_t)memory && page < (uintptr_t)memory + pages * page_bytes);
    CALL(mprotect((void*)page, page_bytes, PROT_READ | PROT_WRITE));
    ++faults;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    memory = mmap(NULL, pages * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    for (int round = 0; round < 4; ++round) {
        CALL(mprotect(memory, pages * page_bytes, round % 2 ? PROT_READ : PROT_NONE));
        for (int page = 0; page < pages; ++page) {
            spin(160000);
            volatile uint32_t* word = (volatile uint32_t*)(memory + page * page_bytes + 8);
            *word = *word + 3;
            CHECK(*word == 3u * (unsigned)(round + 1));
        }
        CHECK(faults == (round + 1) * pages);
    }
    printf("ok\n");
}

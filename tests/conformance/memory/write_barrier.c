// After a handler makes a protected page writable, the store that faulted is executed again.
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

enum { pages = 8 };

static char* heap;
static volatile int dirty[pages];

static void handle(int number, siginfo_t* info, void* context) {
    (void)number;
    (void)context;
    const size_t page = (size_t)((char*)info->si_addr - heap) / 4096;
    CHECK(page < pages);
    ++dirty[page];
    CALL(mprotect(heap + page * 4096, 4096, PROT_READ | PROT_WRITE));
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    CALL(sigaction(SIGSEGV, &action, NULL));
    heap = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(heap != MAP_FAILED);
    for (int round = 0; round < 50; ++round) {
        CALL(mprotect(heap, pages * 4096, PROT_READ));
        for (int page = 0; page < pages; page += 1 + round % 3) {
            volatile int* word = (int*)(void*)(heap + page * 4096 + 64);
            const int before = *word;
            *word += 5;
            *word += 5;
            CHECK(*word == before + 10);
            CHECK(dirty[page] == 1);
            dirty[page] = 0;
            spin(32000);
        }
        for (int page = 0; page < pages; ++page) CHECK(dirty[page] == 0);
    }
    puts("ok");
}

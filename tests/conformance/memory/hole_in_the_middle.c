// Unmapping the middle of a mapping removes it and leaves its neighbours.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

static sigjmp_buf back;

static void handle(int number) {
    (void)number;
    siglongjmp(back, 1);
}

int main(void) {
    CHECK(signal(SIGSEGV, handle) != SIG_ERR);
    for (int round = 0; round < 60; ++round) {
        volatile char* area =
            mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(area != MAP_FAILED);
        for (int page = 0; page < 9; ++page) area[page * 4096] = (char)page;
        CALL(munmap((char*)area + 4096 * 3, 4096 * 3));
        spin(50000);
        for (volatile int page = 0; page < 9; ++page) {
            volatile int faulted = 1;
            if (sigsetjmp(back, 1) == 0) {
                CHECK(area[page * 4096] == page);
                faulted = 0;
            }
            CHECK(faulted == (page >= 3 && page < 6));
        }
        CALL(munmap((char*)area, 9 * 4096));
    }
    puts("ok");
}

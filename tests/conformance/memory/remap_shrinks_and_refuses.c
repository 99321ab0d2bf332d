// mremap shrinks a mapping, and refuses to grow one in place over its neighbour.
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
            mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(area != MAP_FAILED);
        CHECK(mprotect((char*)area + 4 * 4096, 4096, PROT_READ) == 0);
        CHECK(mremap((char*)area, 4096 * 4, 4096 * 5, 0) == MAP_FAILED && errno == ENOMEM);
        area[4096] = 7;
        spin(200000);
        CHECK(mremap((char*)area, 4 * 4096, 2 * 4096, 0) == area);
        CHECK(area[4096] == 7);
        volatile int reached = 0;
        if (sigsetjmp(back, 1) == 0) {
            area[2 * 4096] = 1;
            reached = 1;
        }
        CHECK(!reached);
        CALL(munmap((char*)area, 8 * 4096));
    }
    puts("ok");
}

// Pages of a mapping behind a truncated file's end fault, and are zeros once the file grows.
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
    CHECK(signal(SIGBUS, handle) != SIG_ERR);
    const int file = CALL(memfd_create("cut", 0));
    CALL(ftruncate(file, 3 * 4096));
    volatile char* area = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(area != MAP_FAILED);
    for (int round = 0; round < 60; ++round) {
        area[100] = 1;
        area[2 * 4096] = 2;
        spin(40000);
        CALL(ftruncate(file, 4096));
        CHECK(area[100] == 1);
        volatile int faulted = 1;
        if (sigsetjmp(back, 1) == 0) {
            CHECK(area[2 * 4096] == 55);
            faulted = 0;
        }
        CHECK(faulted);
        CALL(ftruncate(file, 3 * 4096));
        CHECK(area[2 * 4096] == 0);
        spin(20000);
    }
    puts("ok");
}

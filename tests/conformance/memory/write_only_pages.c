// On x86 a page with PROT_WRITE alone can be read as well.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    volatile int* page = mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    for (int round = 0; round < 100; ++round) {
        CALL(mprotect((int*)page, 4096, PROT_WRITE));
        for (int i = 0; i < 1024; ++i) page[i] = i * round;
        spin(40000);
        for (int i = 0; i < 1024; ++i) CHECK(page[i] == i * round);
        CALL(mprotect((int*)page, 4096, PROT_READ));
        CHECK(page[1023] == 1023 * round);
    }
    puts("ok");
}

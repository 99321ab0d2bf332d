// mincore distinguishes touched pages of anonymous memory from untouched ones.
// known-fault: exact,family,verify: pages are made resident by being read
#include <sys/mman.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 60; ++round) {
        char* area =
            mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(area != MAP_FAILED);
        (void)madvise(area, 64 * 4096, MADV_NOHUGEPAGE);
        for (int page = 0; page < 64; page += 3) ((volatile char*)area)[page * 4096] = 1;
        spin(60000);
        unsigned char resident[64];
        CALL(mincore(area, 64 * 4096, resident));
        for (int page = 0; page < 64; ++page) CHECK((resident[page] & 1) == (page % 3 == 0));
        CALL(munmap(area, 64 * 4096));
    }
    puts("ok");
}

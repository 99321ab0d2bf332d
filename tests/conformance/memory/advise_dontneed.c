// MADV_DONTNEED zeroes the given anonymous pages and no others.
#include <sys/mman.h>

#include "check.h"

enum { pages = 32 };

int main(void) {
    volatile char* area =
        mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    for (int round = 0; round < 80; ++round) {
        for (int page = 0; page < pages; ++page) area[page * 4096] = (char)(page + 1);
        const int first = round % 20, count = 1 + round % 10;
        spin(50000);
        CALL(madvise((char*)area + first * 4096, (size_t)count * 4096, MADV_DONTNEED));
        for (int page = 0; page < pages; ++page)
            CHECK(area[page * 4096] == (page >= first && page < first + count ? 0 : page + 1));
    }
    puts("ok");
}

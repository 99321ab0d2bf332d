// MREMAP_DONTUNMAP moves the pages and leaves an empty mapping behind.
#include <sys/mman.h>

#include "check.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

int main(void) {
    for (int round = 0; round < 80; ++round) {
        volatile char* area =
            mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(area != MAP_FAILED);
        area[0] = (char)(round + 1);
        area[3 * 4096] = 5;
        spin(40000);
        volatile char* moved =
            mremap((char*)area, 4 * 4096, 4 * 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
        if (moved == MAP_FAILED && errno == EINVAL) skip("no MREMAP_DONTUNMAP");
        CHECK(moved != MAP_FAILED && moved != area);
        CHECK(moved[0] == (char)(round + 1) && moved[3 * 4096] == 5);
        CHECK(area[0] == 0 && area[3 * 4096] == 0);
        area[0] = 99;
        spin(30000);
        CHECK(moved[0] == (char)(round + 1));
        CALL(munmap((char*)area, 4 * 4096));
        CALL(munmap((char*)moved, 4 * 4096));
    }
    puts("ok");
}

// Reserved address space of 64 GiB costs nothing, and pages anywhere in it can be opened.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    const size_t size = (size_t)64 << 30;
    for (int round = 0; round < 40; ++round) {
        char* area =
            mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (area == MAP_FAILED) skip("a limit of address space");
        for (int part = 0; part < 4; ++part) {
            volatile char* page = area + (size >> 2) * (size_t)part + (size_t)round * 4096;
            CALL(mprotect((char*)page, 4096, PROT_READ | PROT_WRITE));
            *page = (char)part;
            spin(10000);
            CHECK(*page == part);
        }
        spin(30000);
        CALL(munmap(area, size));
    }
    puts("ok");
}

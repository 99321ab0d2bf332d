// mremap enlarges a mapping, in place or elsewhere, and keeps its content.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 40; ++round) {
        size_t size = 4096;
        char* area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(area != MAP_FAILED);
        area[0] = (char)round;
        while (size < 1 << 18) {
            area = mremap(area, size, size * 2, MREMAP_MAYMOVE);
            CHECK(area != MAP_FAILED);
            CHECK(area[size] == 0);
            area[size] = (char)(size >> 12);
            size *= 2;
            spin(5000);
        }
        CHECK(area[0] == (char)round);
        for (size_t at = 4096; at < size; at *= 2) CHECK(area[at] == (char)(at >> 12));
        CALL(munmap(area, size));
    }
    puts("ok");
}

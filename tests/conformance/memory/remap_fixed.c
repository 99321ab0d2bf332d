// MREMAP_FIXED moves a mapping onto another one, which it replaces.
#include <sys/mman.h>

#include "check.h"

static char* map(char fill) {
    char* area = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    memset(area, fill, 4 * 4096);
    return area;
}

int main(void) {
    for (int round = 0; round < 80; ++round) {
        char* from = map('a');
        char* to = map('b');
        spin(50000);
        CHECK(mremap(from, 4 * 4096, 4 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
        CHECK(to[0] == 'a' && to[4 * 4096 - 1] == 'a');
        unsigned char resident;
        CHECK(mincore(from, 4096, &resident) == -1 && errno == ENOMEM);
        CALL(munmap(to, 4 * 4096));
    }
    puts("ok");
}

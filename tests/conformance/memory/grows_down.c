// A MAP_GROWSDOWN mapping grows when the page below it is touched.
// known-fault: exact,family,verify: a mapping other than the stack that grows is not seen to
#include <sys/mman.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 40; ++round) {
        char* area =
            mmap(NULL, 4 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(area != MAP_FAILED);
        CALL(munmap(area, 4 << 20));
        char* const top = area + (3 << 20);
        volatile char* page =
            mmap(top, 4096, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1, 0);
        CHECK(page == top);
        for (int below = 0; below < 16; ++below) {
            CHECK(page[-4096 * below] == 0);
            page[-4096 * below] = (char)below;
            spin(3000);
        }
        for (int below = 0; below < 16; ++below) CHECK(page[-4096 * below] == below);
        CALL(munmap(top - 64 * 4096, 65 * 4096));
    }
    puts("ok");
}

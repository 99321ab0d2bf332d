// MAP_FIXED replaces what was there, and MAP_FIXED_NOREPLACE refuses to.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    volatile char* area =
        mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    for (int round = 0; round < 100; ++round) {
        for (int page = 0; page < 5; ++page) area[page * 4096] = (char)(page + 1);
        char* const middle = (char*)area + 2 * 4096;
        CHECK(mmap(middle, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                   0) == MAP_FAILED);
        CHECK(errno == EEXIST);
        CHECK(*middle == 3);
        spin(50000);
        CHECK(mmap(middle, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1, 0) == middle);
        CHECK(*middle == 0 && area[4096] == 2 && area[3 * 4096] == 4);
    }
    puts("ok");
}

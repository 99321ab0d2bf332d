// A page freed by MADV_FREE has its old content or zeros, and later writes to it are kept.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    volatile char* area =
        mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    for (int round = 0; round < 80; ++round) {
        for (int page = 0; page < 16; ++page) area[page * 4096] = 9;
        CALL(madvise((char*)area, 16 * 4096, MADV_FREE));
        spin(30000);
        for (int page = 0; page < 16; ++page)
            CHECK(area[page * 4096] == 9 || area[page * 4096] == 0);
        for (int page = 0; page < 16; page += 2) area[page * 4096 + 1] = (char)(round + page);
        spin(30000);
        for (int page = 0; page < 16; page += 2)
            CHECK(area[page * 4096 + 1] == (char)(round + page));
    }
    puts("ok");
}

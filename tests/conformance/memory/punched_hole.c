// MADV_REMOVE punches a hole into the file behind a shared mapping, for all that map it.
#include <sys/mman.h>
#include <sys/stat.h>

#include "check.h"

int main(void) {
    const int file = CALL(memfd_create("holes", 0));
    CALL(ftruncate(file, 16 * 4096));
    volatile char* one = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    volatile char* two = mmap(NULL, 16 * 4096, PROT_READ, MAP_SHARED, file, 0);
    CHECK(one != MAP_FAILED && two != MAP_FAILED);
    for (int round = 0; round < 80; ++round) {
        for (int page = 0; page < 16; ++page) one[page * 4096] = 4;
        struct stat about;
        CALL(fstat(file, &about));
        const blkcnt_t before = about.st_blocks;
        spin(60000);
        CALL(madvise((char*)one + 4 * 4096, 8 * 4096, MADV_REMOVE));
        for (int page = 0; page < 16; ++page)
            CHECK(two[page * 4096] == (page >= 4 && page < 12 ? 0 : 4));
        CALL(fstat(file, &about));
        CHECK(about.st_size == 16 * 4096 && about.st_blocks <= before);
    }
    puts("ok");
}

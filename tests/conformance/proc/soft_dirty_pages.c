// After a write to clear_refs, pagemap marks only the pages that were written since.
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"

enum { pages = 16 };

static int is_dirty(int map, char* page) {
    uint64_t entry = 0;
    CHECK(pread(map, &entry, sizeof entry, (off_t)((uintptr_t)page / 4096 * 8)) == sizeof entry);
    return (entry >> 55 & 1) != 0;
}

int main(void) {
    const int clear = open("/proc/self/clear_refs", O_WRONLY);
    const int map = open("/proc/self/pagemap", O_RDONLY);
    char* area =
        mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (clear < 0 || map < 0) skip("no soft-dirty pages");
    CHECK(area != MAP_FAILED);
    memset(area, 1, pages * 4096);
    if (!is_dirty(map, area) || write(clear, "4", 1) != 1 || is_dirty(map, area))
        skip("no soft-dirty pages");
    for (int round = 0; round < 60; ++round) {
        CHECK(write(clear, "4", 1) == 1);
        spin(60000);
        for (int page = 0; page < pages; page += 3)
            ((volatile char*)area)[page * 4096] = (char)round;
        spin(30000);
        for (int page = 0; page < pages; ++page)
            CHECK(is_dirty(map, area + page * 4096) == (page % 3 == 0));
    }
    puts("ok");
}

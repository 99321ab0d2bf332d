// remap_file_pages shows pages of a file in another order.
#include <sys/mman.h>

#include "check.h"

enum { pages = 8 };

int main(void) {
    const int file = CALL(memfd_create("order", 0));
    for (int page = 0; page < pages; ++page) {
        char text[4096];
        memset(text, 'a' + page, sizeof text);
        CHECK(write(file, text, sizeof text) == sizeof text);
    }
    for (int round = 0; round < 40; ++round) {
        volatile char* area = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        CHECK(area != MAP_FAILED);
        for (size_t page = 0; page < pages; ++page)
            if (remap_file_pages((char*)area + page * 4096, 4096, 0, (pages - 1 - page), 0) != 0) {
                CHECK(errno == ENOSYS || errno == EINVAL || errno == EPERM);
                skip("no remap_file_pages");
            }
        spin(60000);
        for (int page = 0; page < pages; ++page) CHECK(area[page * 4096] == 'a' + pages - 1 - page);
        CALL(munmap((char*)area, pages * 4096));
    }
    puts("ok");
}

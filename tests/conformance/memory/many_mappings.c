// Hundreds of mappings with alternating permissions keep their contents and permissions.
#include <sys/mman.h>

#include "check.h"

enum { pages = 400 };

int main(void) {
    volatile char* area =
        mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    for (int page = 0; page < pages; ++page) area[page * 4096] = (char)page;
    for (int page = 0; page < pages; page += 2)
        CALL(mprotect((char*)area + page * 4096, 4096, PROT_READ));
    for (int round = 0; round < 60; ++round) {
        for (int page = 0; page < pages; ++page) CHECK(area[page * 4096] == (char)page);
        for (int page = 1; page < pages; page += 2) area[page * 4096 + 1] = (char)round;
        spin(60000);
        for (int page = 1; page < pages; page += 2) CHECK(area[page * 4096 + 1] == (char)round);
    }
    puts("ok");
}

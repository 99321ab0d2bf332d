// Memory with MADV_DONTFORK is not in a child, until MADV_DOFORK puts it back.
#include <sys/mman.h>

#include "child.h"

int main(void) {
    volatile char* page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    for (int round = 0; round < 50; ++round) {
        const int forked = round % 2;
        CALL(madvise((char*)page, 4096, forked ? MADV_DOFORK : MADV_DONTFORK));
        page[7] = (char)round;
        spin(60000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            unsigned char resident;
            if (!forked) CHECK(mincore((char*)page, 4096, &resident) == -1 && errno == ENOMEM);
            if (forked) CHECK(page[7] == (char)round);
            _exit(0);
        }
        CHECK(page[7] == (char)round);
        expect_exit(child, 0);
    }
    puts("ok");
}

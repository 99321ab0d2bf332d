// Memory with MADV_HUGEPAGE keeps its content through forks and partial unmapping.
#include <sys/mman.h>

#include "child.h"

int main(void) {
    const size_t size = 8 << 20;
    for (int round = 0; round < 8; ++round) {
        volatile char* area =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(area != MAP_FAILED);
        if (madvise((char*)area, size, MADV_HUGEPAGE) != 0) CHECK(errno == EINVAL);
        for (size_t at = 0; at < size; at += 4096) area[at] = (char)(at >> 12);
        spin(200000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            area[4096] = 77;
            _exit(area[8192] == 2 ? 0 : 1);
        }
        expect_exit(child, 0);
        CALL(munmap((char*)area + (2 << 20), 4096));
        for (size_t at = 0; at < size; at += 4096)
            if (at != 2 << 20) CHECK(area[at] == (char)(at >> 12));
        CALL(munmap((char*)area, size));
    }
    puts("ok");
}

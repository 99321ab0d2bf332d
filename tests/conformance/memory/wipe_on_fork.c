// MADV_WIPEONFORK gives a child zeros, and leaves the parent's content.
#include <sys/mman.h>

#include "child.h"

int main(void) {
    volatile uint64_t* secret =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(secret != MAP_FAILED);
    CALL(madvise((uint64_t*)secret, 4096, MADV_WIPEONFORK));
    for (int round = 0; round < 60; ++round) {
        secret[0] = (uint64_t)round + 1;
        secret[512] = (uint64_t)round + 2;
        for (int i = 0; i < 20; ++i) {
            spin(4000);
            CHECK(secret[0] == (uint64_t)round + 1);
        }
        const pid_t child = CALL(fork());
        if (child == 0) {
            CHECK(secret[0] == 0);
            CHECK(secret[512] == (uint64_t)round + 2);
            _exit(0);
        }
        expect_exit(child, 0);
    }
    puts("ok");
}

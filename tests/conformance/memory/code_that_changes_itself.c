// Code that is overwritten between its calls executes in its newest version.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    unsigned char* page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) skip("no memory that is writable and executable");
    uint64_t sum = 0;
    for (int round = 0; round < 100; ++round) {
        const unsigned char code[] = {0x8d, 0x87, (unsigned char)round, 0, 0, 0, 0xc3};
        memcpy(page + round % 7, code, sizeof code);
        int (*volatile function)(int) = (int (*)(int))(uintptr_t)(page + round % 7);
        for (int i = 0; i < 30; ++i) {
            CHECK(function(1000) == 1000 + round);
            sum += (uint64_t)function(i);
        }
        spin(50000);
    }
    printf("%lu\n", sum);
}

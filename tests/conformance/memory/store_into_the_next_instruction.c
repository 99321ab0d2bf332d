// An instruction that overwrites the next one changes what is executed.
#include <sys/mman.h>

#include "check.h"

// mov byte [rip+1], dil ; mov eax, 0 ; ret
static const unsigned char code[] = {0x40, 0x88, 0x3d, 1, 0, 0, 0, 0xb8, 0, 0, 0, 0, 0xc3};

int main(void) {
    unsigned char* page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) skip("no memory that is writable and executable");
    memcpy(page, code, sizeof code);
    int (*volatile function)(int) = (int (*)(int))(uintptr_t)page;
    for (int round = 0; round < 60; ++round) {
        for (int i = 0; i < 4; ++i)
            CHECK(function((round + i * 50) & 255) == ((round + i * 50) & 255));
        spin(80000);
    }
    puts("ok");
}

// A page is written, made executable and run, again and again, as JIT compilers do.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    unsigned char* page =
        mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    for (int round = 0; round < 100; ++round) {
        unsigned char* at = page + round % 4 * 4096;
        CALL(mprotect(at, 4096, PROT_READ | PROT_WRITE));
        // imul eax, edi, ROUND ; ret
        const unsigned char code[] = {0x6b, 0xc7, (unsigned char)(round & 127), 0xc3};
        memcpy(at, code, sizeof code);
        if (mprotect(at, 4096, PROT_READ | PROT_EXEC) != 0)
            skip("written pages cannot be executed");
        int (*volatile function)(int) = (int (*)(int))(uintptr_t)at;
        for (int i = 0; i < 200; ++i) CHECK(function(i) == i * (round & 127));
        spin(160000);
    }
    puts("ok");
}

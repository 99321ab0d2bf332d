// With READ_IMPLIES_EXEC of personality(2), readable mappings can be executed.
#include <sys/mman.h>
#include <sys/personality.h>

#include "check.h"

int main(void) {
    const int before = personality(0xffffffff);
    if (personality((unsigned long)before | READ_IMPLIES_EXEC) < 0) skip("personality is refused");
    for (int round = 0; round < 60; ++round) {
        unsigned char* page =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) skip("memory that is writable and executable is refused");
        const unsigned char code[] = {0xb8, (unsigned char)round, 0, 0, 0, 0xc3};
        memcpy(page, code, sizeof code);
        int (*volatile function)(void) = (int (*)(void))(uintptr_t)page;
        for (int i = 0; i < 100; ++i) CHECK(function() == round);
        spin(60000);
        CALL(munmap(page, 4096));
    }
    puts("ok");
}

// MAP_32BIT gives memory in the lowest 2 GiB, for data and for code.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 100; ++round) {
        unsigned char* page = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        if (page == MAP_FAILED) skip("no memory that is writable and executable");
        CHECK((uintptr_t)page + 65536 <= 0x80000000u);
        for (int i = 0; i < 65536; i += 4096) CHECK(page[i] == 0);
        const unsigned char code[] = {0xb8, (unsigned char)round, 0, 0, 0, 0xc3};
        memcpy(page + 4096, code, sizeof code);
        for (int call = 0; call < 100; ++call) CHECK(((int (*)(void))(page + 4096))() == round);
        spin(50000);
        CALL(munmap(page, 65536));
    }
    puts("ok");
}

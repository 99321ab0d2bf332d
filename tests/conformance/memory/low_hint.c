// mmap gives a free low address that it is asked for, and the memory keeps what is written.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 60; ++round) {
        char* hint = (char*)(uintptr_t)(0x200000 + 0x100000u * (unsigned)(round % 10));
        volatile char* page =
            mmap(hint, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != hint) skip("something else lies there");
        for (int i = 0; i < 16384; i += 512) page[i] = (char)(i / 512 + round);
        spin(60000);
        for (int i = 0; i < 16384; i += 512) CHECK(page[i] == (char)(i / 512 + round));
        CALL(munmap((char*)page, 16384));
    }
    puts("ok");
}

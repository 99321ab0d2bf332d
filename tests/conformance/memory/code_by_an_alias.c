// Code that is written at one address of a page and executed at another is new at once.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    const int file = CALL(memfd_create("code", 0));
    CALL(ftruncate(file, 4096));
    unsigned char* data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    unsigned char* code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    CHECK(data != MAP_FAILED);
    if (code == MAP_FAILED) skip("memfds cannot be executed");
    int (*volatile function)(void) = (int (*)(void))(uintptr_t)code;
    for (int round = 0; round < 100; ++round) {
        const unsigned char text[] = {0xb8, (unsigned char)round, (unsigned char)(round * 3), 0, 0,
                                      0xc3};
        memcpy(data, text, sizeof text);
        for (int i = 0; i < 20; ++i) CHECK(function() == (round | ((round * 3) & 255) << 8));
        spin(60000);
    }
    puts("ok");
}

// Writes to a private mapping do not reach the file; unwritten pages show the file.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    const int file = CALL(memfd_create("file", 0));
    char text[8192];
    memset(text, 'f', sizeof text);
    CHECK(write(file, text, sizeof text) == sizeof text);
    for (int round = 0; round < 80; ++round) {
        volatile char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
        CHECK(page != MAP_FAILED);
        CHECK(page[10] == 'f');
        page[10] = 'p';
        spin(60000);
        char byte = 0;
        CHECK(pread(file, &byte, 1, 10) == 1 && byte == 'f');
        CHECK(page[10] == 'p' && page[5000] == 'f');
        CALL(madvise((char*)page, 4096, MADV_DONTNEED));
        CHECK(page[10] == 'f');
        CALL(munmap((char*)page, 8192));
    }
    puts("ok");
}

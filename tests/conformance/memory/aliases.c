// A page of a memfd that is mapped three times is one page, by whatever address it is written.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    const int file = CALL(memfd_create("aliases", 0));
    CALL(ftruncate(file, 8192));
    volatile unsigned char* at[3];
    for (int i = 0; i < 3; ++i) {
        at[i] = mmap(NULL, 8192, PROT_READ | (i < 2 ? PROT_WRITE : 0), MAP_SHARED, file, 0);
        CHECK(at[i] != MAP_FAILED);
    }
    unsigned expected = 0;
    for (int round = 0; round < 20000; ++round) {
        const int offset = round * 37 % 8192;
        at[round % 2][offset] = (unsigned char)(at[!(round % 2)][offset] + round);
        CHECK(at[0][offset] == at[1][offset] && at[1][offset] == at[2][offset]);
        expected = expected * 31 + at[2][offset];
        if (round % 200 == 0) {
            unsigned char byte;
            CHECK(pread(file, &byte, 1, offset) == 1 && byte == at[2][offset]);
            spin(40000);
        }
    }
    printf("%u\n", expected);
}

// A page far behind 4 GiB in a sparse file is mapped at its own offset.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    const int file = CALL(memfd_create("sparse", 0));
    const off_t far = (off_t)1 << 40;
    if (ftruncate(file, far + 8192) != 0) skip("a limit of file sizes");
    for (int round = 0; round < 60; ++round) {
        const int word = round * 5 + 1;
        CHECK(pwrite(file, &word, 4, far + 4096) == 4);
        volatile int* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                                  round % 2 ? MAP_SHARED : MAP_PRIVATE, file, far);
        CHECK(page != MAP_FAILED);
        spin(60000);
        CHECK(page[0] == 0 && page[1024] == word);
        CALL(munmap((int*)page, 8192));
    }
    puts("ok");
}

// System calls with unmapped memory return EFAULT, or stop short of it.
#include <sys/mman.h>
#include <sys/uio.h>

#include "check.h"

int main(void) {
    char* area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    CALL(mprotect(area + 4096, 4096, PROT_NONE));
    const int file = CALL(memfd_create("data", 0));
    CALL(ftruncate(file, 100));
    int ends[2];
    CALL(pipe(ends));
    for (int round = 0; round < 60; ++round) {
        spin(80000);
        CHECK(pread(file, area + 4096, 10, 0) == -1 && errno == EFAULT);
        CHECK(write(ends[1], area + 4096, 10) == -1 && errno == EFAULT);
        CHECK(pread(file, area + 4090, 10, 0) == 6);
        const struct iovec parts[2] = {{area, 5}, {area + 4096, 5}};
        CHECK(preadv(file, parts, 2, 0) == 5);
        CHECK(pipe((int*)(void*)(area + 4096)) == -1 && errno == EFAULT);
        CHECK(readlink("/proc/self/exe", area + 4096, 10) == -1 && errno == EFAULT);
    }
    puts("ok");
}

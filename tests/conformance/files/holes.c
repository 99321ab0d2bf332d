// SEEK_DATA and SEEK_HOLE find what was written into a sparse file.
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 80; ++round) {
        const int file = CALL(memfd_create("holes", 0));
        CALL(ftruncate(file, 100 * 4096));
        const off_t at = 4096 * (1 + round % 40);
        CHECK(pwrite(file, "data", 4, at) == 4);
        spin(60000);
        const off_t data = lseek(file, 0, SEEK_DATA);
        if (data == 0) skip("no sparse files in memory");
        CHECK(data == at);
        CHECK(lseek(file, at, SEEK_HOLE) == at + 4096);
        CHECK(lseek(file, at + 4096, SEEK_DATA) == -1 && errno == ENXIO);
        CALL(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 4096));
        CHECK(lseek(file, 0, SEEK_DATA) == -1 && errno == ENXIO);
        CHECK(lseek(file, 0, SEEK_END) == 100 * 4096);
        CALL(close(file));
    }
    puts("ok");
}

// A file's offset is one for a descriptor, its duplicates and the same in children.
#include <sys/mman.h>

#include "child.h"

int main(void) {
    const int file = CALL(memfd_create("offsets", 0));
    CALL(ftruncate(file, 100000));
    const int copy = CALL(dup(file));
    for (int round = 0; round < 50; ++round) {
        CALL(lseek(file, round, SEEK_SET));
        char text[10];
        CHECK(read(copy, text, 10) == 10);
        spin(50000);
        CHECK(lseek(file, 0, SEEK_CUR) == round + 10);
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(lseek(file, 500, SEEK_CUR));
            _exit(0);
        }
        expect_exit(child, 0);
        CHECK(lseek(copy, 0, SEEK_CUR) == round + 510);
        CHECK(pread(file, text, 10, 0) == 10);
        CHECK(lseek(file, 0, SEEK_CUR) == round + 510);
    }
    puts("ok");
}

// /proc/self/fdinfo tells a descriptor's offset and flags.
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"

int main(void) {
    const int file = CALL(memfd_create("info", MFD_CLOEXEC));
    CALL(ftruncate(file, 10000));
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", file);
    for (int round = 0; round < 80; ++round) {
        CALL(lseek(file, round * 11, SEEK_SET));
        char byte;
        CHECK(read(file, &byte, 1) == 1);
        spin(60000);
        FILE* info = fopen(name, "r");
        CHECK(info);
        long position = -1;
        unsigned flags = 0;
        CHECK(fscanf(info, "pos: %ld flags: %o", &position, &flags) == 2);
        fclose(info);
        CHECK(position == round * 11 + 1);
        CHECK((flags & O_ACCMODE) == O_RDWR && (flags & O_CLOEXEC));
    }
    puts("ok");
}

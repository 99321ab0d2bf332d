// sendfile, copy_file_range and splice copy bytes, and move offsets that the caller does not pass.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "check.h"

int main(void) {
    const int from = CALL(memfd_create("from", 0));
    const int to = CALL(memfd_create("to", 0));
    char text[3000], got[3000];
    for (size_t i = 0; i < sizeof text; ++i) text[i] = (char)(i * 13);
    CHECK(write(from, text, sizeof text) == sizeof text);
    int ends[2];
    CALL(pipe(ends));
    for (int round = 0; round < 80; ++round) {
        off_t offset = round;
        CALL(lseek(to, 0, SEEK_SET));
        CALL(lseek(from, 0, SEEK_SET));
        CHECK(sendfile(to, from, &offset, 500) == 500 && offset == round + 500);
        CHECK(lseek(from, 0, SEEK_CUR) == 0 && lseek(to, 0, SEEK_CUR) == 500);
        spin(50000);
        CHECK(splice(from, &offset, ends[1], NULL, 700, 0) == 700);
        CHECK(splice(ends[0], NULL, to, NULL, 700, 0) == 700);
        CHECK(lseek(to, 0, SEEK_CUR) == 1200);
        off_t target = 1200;
        const ssize_t copied = copy_file_range(from, &offset, to, &target, 300, 0);
        if (copied < 0)
            CHECK(errno == ENOSYS || errno == EXDEV || errno == EPERM || errno == EOPNOTSUPP);
        const size_t length = copied < 0 ? 1200 : 1500;
        CHECK(pread(to, got, length, 0) == (ssize_t)length);
        CHECK(memcmp(got, text + round, length) == 0);
    }
    puts("ok");
}

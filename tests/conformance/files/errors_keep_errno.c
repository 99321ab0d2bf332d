// errno keeps the error of the last failed call, however long ago.
#include <fcntl.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 100; ++round) {
        CHECK(open("/nonexistent/file", O_RDONLY) == -1);
        spin(40000);
        CHECK(errno == ENOENT);
        CHECK(close(-1) == -1);
        spin(40000);
        CHECK(errno == EBADF);
        CHECK(lseek(0, 0, 99) == -1);
        CHECK(getpid() > 0);
        spin(20000);
        CHECK(errno == EINVAL || errno == ESPIPE);
    }
    puts("ok");
}

// An open file's record lock is gone as soon as its only descriptor is closed.
#include <fcntl.h>

#include "check.h"

int main(void) {
    char name[256];
    snprintf(name, sizeof name, "%s/ofdXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CALL(close(CALL(mkstemp(name))));
    for (int round = 0; round < 150; ++round) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
        const int first = CALL(open(name, O_RDWR));
        CALL(fcntl(first, F_OFD_SETLK, &lock));
        const int second = CALL(open(name, O_RDWR));
        CHECK(fcntl(second, F_OFD_SETLK, &lock) == -1 && errno == EAGAIN);
        spin(60000);
        CALL(close(first));
        const int result = fcntl(second, F_OFD_SETLK, &lock);
        if (result != 0) unlink(name);
        CHECK(result == 0);
        CALL(close(second));
    }
    CALL(unlink(name));
    puts("ok");
}

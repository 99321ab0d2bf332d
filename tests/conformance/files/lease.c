// A write lease is given as soon as the only other descriptor of the file is closed.
#include <fcntl.h>

#include "check.h"

int main(void) {
    char name[256];
    snprintf(name, sizeof name, "%s/leaseXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CALL(close(CALL(mkstemp(name))));
    for (int round = 0; round < 100; ++round) {
        const int one = CALL(open(name, O_RDWR));
        const int two = CALL(open(name, O_RDONLY));
        const int refused = fcntl(one, F_SETLEASE, F_WRLCK);
        const int error = errno;
        if (refused == 0 || error != EAGAIN) {
            unlink(name);
            skip("a file system without leases");
        }
        spin(80000);
        CALL(close(two));
        const int given = fcntl(one, F_SETLEASE, F_WRLCK);
        if (given != 0) unlink(name);
        CHECK(given == 0);
        CHECK(fcntl(one, F_GETLEASE) == F_WRLCK);
        CALL(close(one));
    }
    CALL(unlink(name));
    puts("ok");
}

// A flock is gone as soon as the one descriptor of its open file is closed.
#include <fcntl.h>
#include <sys/file.h>

#include "check.h"

int main(void) {
    char name[256];
    snprintf(name, sizeof name, "%s/flockXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CALL(close(CALL(mkstemp(name))));
    for (int round = 0; round < 200; ++round) {
        const int first = CALL(open(name, O_RDWR));
        CALL(flock(first, LOCK_EX | LOCK_NB));
        const int second = CALL(open(name, O_RDWR));
        CHECK(flock(second, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
        spin(60000);
        CALL(close(first));
        const int result = flock(second, LOCK_EX | LOCK_NB);
        if (result != 0) unlink(name);
        CHECK(result == 0);
        CALL(close(second));
    }
    CALL(unlink(name));
    puts("ok");
}

// Opening a FIFO for writing fails with ENXIO as soon as its last reader has closed.
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"

int main(void) {
    char folder[256], name[300];
    snprintf(folder, sizeof folder, "%s/fifoXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/fifo", folder);
    CALL(mkfifo(name, 0600));
    int failures = 0;
    for (int round = 0; round < 150; ++round) {
        failures += open(name, O_WRONLY | O_NONBLOCK) != -1 || errno != ENXIO;
        const int reader = CALL(open(name, O_RDONLY | O_NONBLOCK));
        const int writer = CALL(open(name, O_WRONLY | O_NONBLOCK));
        CHECK(write(writer, "x", 1) == 1);
        spin(60000);
        CALL(close(reader));
        CALL(close(writer));
    }
    CALL(unlink(name));
    CALL(rmdir(folder));
    CHECK(failures == 0);
    puts("ok");
}

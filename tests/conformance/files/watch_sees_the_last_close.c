// inotify reports the close of a written file as soon as its only descriptor is closed.
#include <fcntl.h>
#include <sys/inotify.h>

#include "check.h"

int main(void) {
    char name[256];
    snprintf(name, sizeof name, "%s/watchXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CALL(close(CALL(mkstemp(name))));
    const int watch = inotify_init1(IN_NONBLOCK);
    if (watch < 0) {
        unlink(name);
        skip("no inotify");
    }
    CALL(inotify_add_watch(watch, name, IN_CLOSE_WRITE | IN_MODIFY));
    for (int round = 0; round < 150; ++round) {
        struct inotify_event event;
        const int file = CALL(open(name, O_WRONLY));
        CHECK(write(file, "x", 1) == 1);
        spin(60000);
        CHECK(read(watch, &event, sizeof event) == sizeof event && event.mask == IN_MODIFY);
        CHECK(read(watch, &event, sizeof event) == -1 && errno == EAGAIN);
        CALL(close(file));
        const ssize_t got = read(watch, &event, sizeof event);
        if (got < 0) unlink(name);
        CHECK(got == sizeof event && event.mask == IN_CLOSE_WRITE);
    }
    CALL(unlink(name));
    puts("ok");
}

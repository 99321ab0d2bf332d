// Locks of both kinds are gone when the process that held them was killed and waited for.
#include <fcntl.h>
#include <sys/file.h>

#include "child.h"

static int lock(const char* name) {
    const int file = CALL(open(name, O_RDWR | O_CLOEXEC));
    struct flock record = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 5};
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && fcntl(file, F_SETLK, &record) == 0) return file;
    close(file);
    return -1;
}

int main(void) {
    char name[256];
    snprintf(name, sizeof name, "%s/lockedXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CALL(close(CALL(mkstemp(name))));
    int failures = 0;
    for (int round = 0; round < 40; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(lock(name));
            CHECK(write(ready[1], "x", 1) == 1);
            spin_for_ever();
        }
        char byte;
        CALL(close(ready[1]));
        CHECK(read(ready[0], &byte, 1) == 1);
        failures += lock(name) != -1;
        spin(80000);
        CALL(kill(child, SIGKILL));
        expect_killed(child, SIGKILL);
        const int file = lock(name);
        failures += file < 0;
        if (file >= 0) CALL(close(file));
        CALL(close(ready[0]));
    }
    CALL(unlink(name));
    CHECK(failures == 0);
    puts("ok");
}

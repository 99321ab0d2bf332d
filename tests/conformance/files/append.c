// Two processes that append to one file do not overwrite each other.
#include <fcntl.h>

#include "child.h"

int main(void) {
    char name[256];
    snprintf(name, sizeof name, "%s/appendXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CALL(close(CALL(mkstemp(name))));
    const pid_t child = CALL(fork());
    const int file = CALL(open(name, O_RDWR | O_APPEND | O_CLOEXEC));
    for (int round = 0; round < 150; ++round) {
        char line[16];
        snprintf(line, sizeof line, "%c%06d\n", child ? 'p' : 'c', round);
        CHECK(write(file, line, 8) == 8);
        spin(20000);
    }
    if (child == 0) _exit(0);
    expect_exit(child, 0);
    int next[2] = {0, 0};
    char line[9] = {0};
    for (int i = 0; i < 300; ++i) {
        CHECK(pread(file, line, 8, i * 8) == 8);
        CHECK(atoi(line + 1) == next[line[0] == 'p']++);
    }
    CHECK(pread(file, line, 8, 2400) == 0);
    CALL(unlink(name));
    printf("%d %d\n", next[0], next[1]);
}

// A file of O_TMPFILE gets a name by linkat, with what was written before.
#include <fcntl.h>

#include "check.h"

int main(void) {
    const char* folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char name[256], from[64], text[5] = {0};
    snprintf(name, sizeof name, "%s/linked-%d", folder, getpid());
    for (int round = 0; round < 60; ++round) {
        const int file = open(folder, O_TMPFILE | O_RDWR, 0600);
        if (file < 0) skip("a temporary folder without O_TMPFILE");
        CHECK(write(file, "text", 4) == 4);
        spin(60000);
        snprintf(from, sizeof from, "/proc/self/fd/%d", file);
        CALL(linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW));
        const int again = CALL(open(name, O_RDONLY));
        CHECK(read(again, text, 4) == 4 && strcmp(text, "text") == 0);
        CALL(unlink(name));
        CALL(close(again));
        CALL(close(file));
    }
    puts("ok");
}

// A file without a name lives on in its descriptor, and has a link count of 0.
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"

int main(void) {
    const char* folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char name[256], other[300];
    for (int round = 0; round < 60; ++round) {
        snprintf(name, sizeof name, "%s/nameXXXXXX", folder);
        const int file = CALL(mkstemp(name));
        snprintf(other, sizeof other, "%s-other", name);
        CHECK(write(file, "kept", 4) == 4);
        struct stat about;
        if (link(name, other) == 0) {
            CALL(fstat(file, &about));
            CHECK(about.st_nlink == 2);
            CALL(unlink(other));
        }
        CALL(rename(name, other));
        CHECK(access(name, F_OK) == -1 && errno == ENOENT);
        CALL(unlink(other));
        spin(60000);
        CALL(fstat(file, &about));
        CHECK(about.st_nlink == 0 && about.st_size == 4);
        char text[4];
        CHECK(pread(file, text, 4, 0) == 4 && memcmp(text, "kept", 4) == 0);
        CALL(close(file));
    }
    puts("ok");
}

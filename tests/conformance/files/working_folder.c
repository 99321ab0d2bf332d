// A process's working directory can be removed; getcwd reports it, and fchdir leads back.
#include <fcntl.h>

#include "check.h"

int main(void) {
    const int back = CALL(open("/", O_RDONLY | O_DIRECTORY));
    for (int round = 0; round < 60; ++round) {
        char folder[256], where[300];
        snprintf(folder, sizeof folder, "%s/cwdXXXXXX",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        CHECK(mkdtemp(folder));
        CALL(chdir(folder));
        spin(40000);
        CALL(rmdir(folder));
        CHECK(getcwd(where, sizeof where) == NULL && errno == ENOENT);
        CHECK(open("file", O_CREAT | O_WRONLY, 0600) == -1 && errno == ENOENT);
        spin(30000);
        CALL(fchdir(back));
        CHECK(getcwd(where, sizeof where) && strcmp(where, "/") == 0);
    }
    puts("ok");
}

// A script's interpreter, from its first line, gets that line's argument and the script's name.
#include <fcntl.h>
#include <sys/stat.h>

#include "child.h"

int main(int count, char** arguments) {
    if (count > 1) {
        spin(50000);
        CHECK(count == 4);
        CHECK(strcmp(arguments[1], "one argument") == 0);
        CHECK(strstr(arguments[2], "script"));
        CHECK(strcmp(arguments[3], "last") == 0);
        return 16;
    }
    char self[180] = {0};
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    const char* folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char name[256];
    snprintf(name, sizeof name, "%s/scriptXXXXXX", folder);
    const int file = CALL(mkstemp(name));
    dprintf(file, "#!%s one argument\nnothing\n", self);
    CALL(fchmod(file, 0700));
    CALL(close(file));
    if (strlen(self) > 200) skip("a long path");
    for (int round = 0; round < 20; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            execl(name, name, "last", NULL);
            if (errno == EACCES) _exit(77);
            CHECK(!"exec failed");
        }
        spin(60000);
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        if (WEXITSTATUS(status) == 77) {
            unlink(name);
            skip("a temporary folder without programs");
        }
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 16);
    }
    CALL(unlink(name));
    puts("ok");
}

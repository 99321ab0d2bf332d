// cmdline, environ, comm and the links exe, cwd and root of /proc/self are the program's own.
// arguments: one two
#include <fcntl.h>

#include "check.h"

static ssize_t take(const char* name, char* text, size_t size) {
    const int file = CALL(open(name, O_RDONLY));
    const ssize_t length = CALL(read(file, text, size));
    CALL(close(file));
    return length;
}

int main(int count, char** arguments) {
    CHECK(count == 3);
    char first[4096], text[4096], expected[4096];
    const ssize_t link = CALL(readlink("/proc/self/exe", first, sizeof first));
    for (int round = 0; round < 60; ++round) {
        spin(100000);
        const ssize_t length = take("/proc/self/cmdline", text, sizeof text);
        const size_t own = strlen(arguments[0]) + 1;
        CHECK(length == (ssize_t)own + 8 && memcmp(text + own, "one\0two", 8) == 0);
        CHECK(readlink("/proc/self/exe", text, sizeof text) == link &&
              memcmp(text, first, (size_t)link) == 0);
        CHECK(getcwd(expected, sizeof expected));
        const ssize_t where = CALL(readlink("/proc/self/cwd", text, sizeof text - 1));
        text[where] = 0;
        CHECK(strcmp(text, expected) == 0);
        CHECK(take("/proc/self/environ", text, sizeof text) > 0 || environ[0] == NULL);
    }
    puts("ok");
}

// rchar of /proc/self/io grows by what the program reads itself, and by nothing else.
#include <fcntl.h>

#include "check.h"

static uint64_t field(const char* text, const char* name) {
    const char* at = strstr(text, name);
    CHECK(at);
    return strtoul(at + strlen(name), NULL, 10);
}

int main(void) {
    char text[512] = {0}, more[1000];
    const int file = open("/proc/self/io", O_RDONLY);
    if (file < 0) skip("no counts of input and output");
    const int zero = CALL(open("/dev/zero", O_RDONLY));
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    if (length <= 0) skip("no counts of input and output");
    uint64_t bytes = field(text, "rchar:"), calls = field(text, "syscr:");
    for (int round = 0; round < 80; ++round) {
        spin(100000);
        CHECK(read(zero, more, (size_t)round + 1) == round + 1);
        memset(text, 0, sizeof text);
        const ssize_t now = CALL(pread(file, text, sizeof text - 1, 0));
        CHECK(field(text, "rchar:") == bytes + (uint64_t)length + (uint64_t)round + 1);
        CHECK(field(text, "syscr:") == calls + 2);
        bytes = field(text, "rchar:");
        calls = field(text, "syscr:");
        length = now;
    }
    puts("ok");
}

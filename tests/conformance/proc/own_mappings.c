// /proc/self/maps lists the same mappings at all times.
#include <fcntl.h>

#include "check.h"

static size_t take(char* text, size_t size) {
    const int file = CALL(open("/proc/self/maps", O_RDONLY));
    size_t length = 0;
    for (ssize_t more; (more = CALL(read(file, text + length, size - length))) > 0;)
        length += (size_t)more;
    CALL(close(file));
    return length;
}

int main(void) {
    static char first[65536], now[65536];
    const size_t length = take(first, sizeof first);
    for (int round = 0; round < 100; ++round) {
        spin(120000);
        CHECK(take(now, sizeof now) == length);
        CHECK(memcmp(first, now, length) == 0);
    }
    puts("ok");
}

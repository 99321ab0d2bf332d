// /proc/self/maps shows each mapping with its permissions, and nothing else.
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"

static int lines(uintptr_t wanted, char* permissions) {
    static char text[65536];
    const int file = CALL(open("/proc/self/maps", O_RDONLY));
    size_t length = 0;
    for (ssize_t more; (more = CALL(read(file, text + length, sizeof text - length - 1))) > 0;)
        length += (size_t)more;
    CALL(close(file));
    text[length] = 0;
    int count = 0;
    for (char* line = text; *line; line = strchr(line, '\n') + 1, ++count) {
        char* end;
        if (strtoul(line, &end, 16) != wanted) continue;
        CHECK(strtoul(end + 1, &end, 16) == wanted + 4096);
        memcpy(permissions, end + 1, 4);
    }
    return count;
}

int main(void) {
    char permissions[5] = {0};
    const int before = lines(1, permissions);
    char* area = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    CALL(munmap(area, 4096));
    CALL(munmap(area + 2 * 4096, 4096));
    CALL(munmap(area + 4096, 4096));
    const int kinds[4] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC};
    const char* const words[4] = {"---s", "r--s", "rw-s", "r-xs"};
    for (int round = 0; round < 60; ++round) {
        CHECK(lines(1, permissions) == before);
        char* page = mmap(NULL, 4096, kinds[round % 4], MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CHECK(page != MAP_FAILED);
        spin(60000);
        CHECK(lines((uintptr_t)page, permissions) == before + 1);
        CHECK(memcmp(permissions, words[round % 4], 4) == 0);
        CALL(munmap(page, 4096));
    }
    puts("ok");
}

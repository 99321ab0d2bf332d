// /proc/self/fd lists only the program's own descriptors and the one that reads the list.
#include <dirent.h>
#include <fcntl.h>

#include "check.h"

static unsigned long listed(int* count) {
    DIR* folder = opendir("/proc/self/fd");
    CHECK(folder);
    unsigned long bits = 0;
    *count = 0;
    for (struct dirent* entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        ++*count;
        if (atoi(entry->d_name) < 64) bits |= 1ul << atoi(entry->d_name);
    }
    closedir(folder);
    return bits;
}

int main(void) {
    int first, now;
    const unsigned long bits = listed(&first);
    for (int round = 0; round < 80; ++round) {
        spin(120000);
        CHECK(listed(&now) == bits && now == first);
        const int file = CALL(open("/dev/null", O_RDONLY));
        CHECK(listed(&now) != bits && now == first + 1);
        CALL(close(file));
    }
    puts("ok");
}

// Writes to a shared mapping reach the file, and writes to the file reach the mapping.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    char name[256];
    snprintf(name, sizeof name, "%s/sharedXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    const int file = CALL(mkstemp(name));
    CALL(unlink(name));
    CALL(ftruncate(file, 16384));
    volatile int* words = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(words != MAP_FAILED);
    for (int round = 0; round < 100; ++round) {
        words[round * 7] = round;
        int now = -1;
        spin(60000);
        CHECK(pread(file, &now, 4, round * 28) == 4 && now == round);
        now = round + 1000;
        CHECK(pwrite(file, &now, 4, round * 28) == 4);
        CHECK(words[round * 7] == round + 1000);
        CALL(msync((int*)words, 4096, round % 2 ? MS_SYNC : MS_ASYNC));
    }
    puts("ok");
}

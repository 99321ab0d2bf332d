// mlock adds to VmLck, munlock subtracts from it, and a forked child has no locked memory.
#include <sys/mman.h>

#include "child.h"

static long locked_kib(void) {
    char text[4096] = {0};
    FILE* file = fopen("/proc/self/status", "r");
    CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    const char* at = strstr(text, "VmLck:");
    CHECK(at);
    return atol(at + 6);
}

int main(void) {
    char* area = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    for (int round = 0; round < 40; ++round) {
        if (mlock(area, 8 * 4096) != 0) skip("memory cannot be locked");
        spin(50000);
        CHECK(locked_kib() == 32);
        if (round % 8 == 0) {
            const pid_t child = CALL(fork());
            if (child == 0) _exit(locked_kib() == 0 ? 0 : 1);
            expect_exit(child, 0);
        }
        CALL(munlock(area + 4096, 4096));
        CHECK(locked_kib() == 28);
        CALL(munlock(area, 8 * 4096));
        spin(50000);
        CHECK(locked_kib() == 0);
    }
    puts("ok");
}

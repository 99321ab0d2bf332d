// Under a tight RLIMIT_AS, mappings that fit succeed, others fail with ENOMEM, forks still work.
#include <sys/mman.h>
#include <sys/resource.h>

#include "child.h"

int main(void) {
    long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    const rlim_t room = 8 << 20;
    const struct rlimit limit = {(rlim_t)pages * 4096 + room, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) skip("a hard limit of address space");
    for (int round = 0; round < 50; ++round) {
        char* fits =
            mmap(NULL, 6 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(fits != MAP_FAILED);
        CHECK(mmap(NULL, 6 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
        CHECK(errno == ENOMEM);
        spin(60000);
        if (round % 5 == 0) {
            const pid_t child = CALL(fork());
            if (child == 0) _exit(0);
            expect_exit(child, 0);
        }
        CALL(munmap(fits, 6 << 20));
    }
    puts("ok");
}

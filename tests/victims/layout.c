// Uses its address space in an unusual way: reserves argv[1] GiB without access, as sanitizers and
// language runtimes do, and computes in widely separated parts of it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "work.h"

#define PLACES 256

int main(int argc, char** argv) {
    const size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1) << 30;
    char* all = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return perror("mmap"), 1;
    const size_t stride = bytes / PLACES & ~(size_t)0xfff;
    for (size_t i = 0; i < PLACES; ++i)
        if (mprotect(all + i * stride, 4096, PROT_READ | PROT_WRITE) != 0)
            return perror("mprotect"), 1;
    uint64_t state = 1;
    for (unsigned round = 0; round < 2000; ++round) {
        volatile uint64_t* place = (uint64_t*)(all + state % PLACES * stride);
        *place += state;
        state = work(*place, 50);
    }
    printf("%" PRIu64 "\n", state);
    return 0;
}

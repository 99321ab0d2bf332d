// Reserves half of all addresses, as programs with sanitizers do, so that an emulator with memory
// of its own has hardly any room for the rest.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? atol(argv[1]) : 1;
    const void* reserved =
        mmap(NULL, 1UL << 46, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return 77;
    volatile long sum = 0;
    for (long i = 0; i < rounds; ++i) sum += i;
    printf("no room: sum %ld\n", sum);
    return 0;
}

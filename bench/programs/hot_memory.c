// hot_memory GIBIBYTES WRITES FILE: writes WRITES times to random pages of GIBIBYTES of private
// memory, then writes to FILE how many seconds that took. Getting the memory from the host is not
// included.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static uint64_t next_random(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const size_t bytes = strtoull(argv[1], NULL, 10) << 30;
    const uint64_t writes = strtoull(argv[2], NULL, 10);
    unsigned char* memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == 0 || memory == MAP_FAILED) return 1;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
    const double start = now_seconds();
    uint64_t state = 88172645463325252u, sum = 0;
    for (uint64_t i = 0; i < writes; ++i) sum += ++memory[next_random(&state) % bytes];
    FILE* file = fopen(argv[3], "w");
    if (!file) return 1;
    fprintf(file, "%.6f\n", now_seconds() - start);
    return fclose(file) || sum == 0;
}

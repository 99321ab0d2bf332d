// Follows pointers, or reads in another pattern, through memory of a given size for ever, or until
// so many rounds are done: chase PATTERN BYTES PAGES [ROUNDS]. PATTERN is random, sequential,
// stride or buckets; PAGES is small or huge. Prints one line when it is ready, and the sum of what
// it read at the end, which does not depend on anything but its arguments.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// The labels below may stand only once: what has them is neither inlined nor cloned.
#if __has_attribute(noipa)
#define ONE_COPY __attribute__((noipa))
#else
#define ONE_COPY __attribute__((noinline))
#endif

enum { line_bytes = 64 };

static char* memory;
static uint64_t lines;

// Visits every line of a power of two once (a linear congruential sequence).
static uint64_t next_line(uint64_t line) {
    return (line * 0x5851f42d4c957f2dull + 0x14057b7ef767814full) % lines;
}

// The one load of each pattern is named, so that tests find it.
ONE_COPY uint64_t load_random(uint64_t steps) {
    uint64_t at = (uint64_t)memory;
    for (uint64_t i = 0; i < steps; ++i)
        __asm__ volatile(".globl the_random_load\nthe_random_load: mov (%0), %0" : "+r"(at));
    return at - (uint64_t)memory;
}

ONE_COPY uint64_t load_by(uint64_t stride, uint64_t steps) {
    uint64_t sum = 0, at = 0;
    const uint64_t all = lines * line_bytes;
    for (uint64_t i = 0; i < steps; ++i) {
        uint64_t value;
        __asm__ volatile(".globl the_strided_load\nthe_strided_load: mov (%1), %0"
                         : "=r"(value)
                         : "r"(memory + at));
        sum += value - (uint64_t)memory;
        at += stride;
        if (at >= all) at -= all;
    }
    return sum;
}

// A hash table whose buckets are a line each: the address follows from a key, not from a load.
ONE_COPY uint64_t load_buckets(uint64_t steps) {
    uint64_t sum = 0, key = 1;
    for (uint64_t i = 0; i < steps; ++i) {
        key = key * 6364136223846793005ull + 1442695040888963407ull;
        const uint64_t bucket = (key >> 20) % lines;
        uint64_t value;
        __asm__ volatile(".globl the_bucket_load\nthe_bucket_load: mov (%1), %0"
                         : "=r"(value)
                         : "r"(memory + bucket * line_bytes));
        sum += value - (uint64_t)memory;
    }
    return sum;
}

static uint64_t run(const char* pattern, uint64_t steps) {
    if (strcmp(pattern, "random") == 0) return load_random(steps);
    if (strcmp(pattern, "sequential") == 0) return load_by(8, steps);
    if (strcmp(pattern, "stride") == 0) return load_by(4 * line_bytes, steps);
    return load_buckets(steps);
}

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const uint64_t bytes = strtoull(argv[2], NULL, 0);
    const uint64_t huge = 2u << 20, room = bytes + 2 * huge;
    char* got = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) return 3;
    memory = (char*)(((uint64_t)got + huge - 1) & ~(huge - 1));
    madvise(memory, bytes < huge ? huge : bytes,
            strcmp(argv[3], "huge") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    lines = bytes / line_bytes;
    for (uint64_t i = 0; i < lines; ++i) {
        uint64_t* line = (uint64_t*)(memory + i * line_bytes);
        for (int word = 0; word < 8; ++word)
            line[word] = (uint64_t)memory + next_line(i) * line_bytes;
    }
    printf("ready\n");
    fflush(stdout);
    const uint64_t rounds = argc > 4 ? strtoull(argv[4], NULL, 0) : UINT64_MAX;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; ++i) sum += run(argv[1], 1u << 20);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

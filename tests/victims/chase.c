// Follows pointers through memory, or reads it in another pattern: chase PATTERN BYTES PAGES
// [ROUNDS [FILE]]. PATTERN is random, sequential, stride or buckets; PAGES is small or huge.
// Without ROUNDS, or with 0, it runs for ever. Prints one line when it is ready, and at the end the
// sum of what it read, which depends only on the arguments. After each round, FILE has two 8-byte
// numbers: the loads made, and the cycles of the time-stamp counter that they took.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

// The labels below must exist only once: functions with labels must be neither inlined nor cloned.
#if __has_attribute(noipa)
#define ONE_COPY __attribute__((noipa))
#else
#define ONE_COPY __attribute__((noinline))
#endif

enum { line_bytes = 64 };

static char* memory;
static uint64_t lines;

// Returns the line to visit at a time. `lines` is a power of two. Each line is visited once, in an
// order without a pattern, because each step can be undone.
static uint64_t line_at(uint64_t time) {
    const int half = (__builtin_ctzll(lines) + 1) / 2;
    uint64_t line = time * 0x9e3779b97f4a7c15ull % lines;
    line = (line ^ line >> half) * 0xbf58476d1ce4e5b9ull % lines;
    return (line ^ line >> half) * 0x94d049bb133111ebull % lines;
}

// The load of each pattern has a label, so that tests find it.
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

// A hash table with one line for each bucket: an address follows from a key, not from a load.
ONE_COPY uint64_t load_buckets(uint64_t steps) {
    static uint64_t key = 1;
    uint64_t sum = 0;
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

struct progress {
    volatile uint64_t loads, cycles;
};

static struct progress* show_progress(const char* path) {
    static struct progress unseen;
    if (!path) return &unseen;
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct progress)) != 0) exit(3);
    void* shown = mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shown == MAP_FAILED) exit(3);
    return shown;
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
        uint64_t* line = (uint64_t*)(memory + line_at(i) * line_bytes);
        for (int word = 0; word < 8; ++word)
            line[word] = (uint64_t)memory + line_at((i + 1) % lines) * line_bytes;
    }
    printf("ready\n");
    fflush(stdout);
    const uint64_t rounds = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
    struct progress* progress = show_progress(argc > 5 ? argv[5] : NULL);
    const uint64_t steps = 1u << 20;
    uint64_t sum = 0;
    for (uint64_t i = 0; rounds == 0 || i < rounds; ++i) {
        const uint64_t start = __rdtsc();
        sum += run(argv[1], steps);
        progress->cycles += __rdtsc() - start;
        progress->loads += steps;
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

// Fills, walks and chases through some memory: caches BYTES STRIDE ROUNDS. Stores once, walks and
// chases as many rounds.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t caches_walk(const char* memory, uint64_t bytes, uint64_t stride);
void caches_fill(char* memory, uint64_t bytes, uint64_t stride);
void* caches_chase(void* start, uint64_t steps);

// Links the words into one cycle in random order (Sattolo's algorithm). Returns the word that was
// linked first, so that a chase from there comes to each word when all others were used since.
static char* link_words(char* memory, uint64_t count, uint64_t stride) {
    uint64_t* order = malloc(count * sizeof *order);
    uint64_t random = 0x9e3779b97f4a7c15;
    for (uint64_t i = 0; i < count; ++i) order[i] = i;
    for (uint64_t i = count - 1; i > 0; --i) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const uint64_t j = random % i, other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    for (uint64_t i = 0; i < count; ++i)
        *(void**)(memory + order[i] * stride) = memory + order[(i + 1) % count] * stride;
    char* const first = memory + order[0] * stride;
    free(order);
    return first;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const uint64_t bytes = strtoull(argv[1], NULL, 0), stride = strtoull(argv[2], NULL, 0),
                   rounds = strtoull(argv[3], NULL, 0), count = bytes / stride;
    // A page more, so that the memory begins with a page and is mapped by itself.
    char* memory = aligned_alloc(4096, bytes + 4096);
    if (memory == NULL) return 2;
    caches_fill(memory, bytes, stride);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; ++i) sum += caches_walk(memory, bytes, stride);
    char* const start = link_words(memory, count, stride);
    if (sum != count * rounds || caches_chase(start, count * rounds) != start) {
        printf("caches: wrong result\n");
        return 1;
    }
    printf("caches: %" PRIu64 "\n", count);
    return 0;
}

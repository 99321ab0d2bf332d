// Inserts random keys into a hash table with chains, larger than caches, and finds some. argv:
// [turns]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
    uint64_t key, value;
    struct entry* next;
};

enum { buckets = 1 << 20, keys = 4000000 };
static struct entry* table[buckets];

static uint64_t hash(uint64_t key) {
    key *= 0xff51afd7ed558ccdull;
    key ^= key >> 33;
    return key;
}

__attribute__((noinline)) struct entry* find(uint64_t key) {
    struct entry* e = table[hash(key) & (buckets - 1)];
    while (e != NULL && e->key != key) e = e->next;
    return e;
}

__attribute__((noinline)) void insert(uint64_t key, uint64_t value) {
    struct entry* e = find(key);
    if (e != NULL) {
        e->value += value;
        return;
    }
    e = malloc(sizeof *e);
    struct entry** bucket = &table[hash(key) & (buckets - 1)];
    *e = (struct entry){key, value, *bucket};
    *bucket = e;
}

static uint64_t state = 1;

static inline uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

int main(int argc, char** argv) {
    const long turns = argc > 1 ? atol(argv[1]) : 1000000;
    uint64_t found = 0;
    for (long i = 0; i < turns; ++i) {
        insert(draw() % keys, 1);
        const struct entry* e = find(draw() % keys);
        if (e != NULL) found += e->value;
    }
    printf("%llu\n", (unsigned long long)found);
}

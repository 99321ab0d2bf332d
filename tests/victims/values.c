// Runs the loop of values.S over a table that has 7 in 717 of 1024 places, 9 in 205, and 102
// different numbers from 1000 on. Checks its result against a model.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { table_size = 1024, sevens = 717, nines = 205 };

uint64_t values_run(uint64_t iterations, uint64_t random_state, const uint32_t* table);

static uint64_t xorshift64(uint64_t state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ state << 17;
}

static void fill(uint32_t table[table_size]) {
    for (uint32_t i = 0; i < table_size; ++i)
        table[i] = i < sevens ? 7 : i < sevens + nines ? 9 : 1000 + i - sevens - nines;
}

// `iterations` must be a multiple of 4.
static uint64_t model(uint64_t iterations, uint64_t state, const uint32_t* table) {
    uint64_t result = iterations * 42 + iterations / 4 * (0 + 1 + 2 + 3);
    for (uint64_t i = 0; i < iterations; ++i) {
        state = xorshift64(state);
        result += table[state >> 54];
    }
    return result;
}

int main(int argc, char** argv) {
    static uint32_t table[table_size];
    const uint64_t iterations = 4 * (argc > 1 ? strtoull(argv[1], NULL, 0) : 120000000);
    const uint64_t seed = 0x9e3779b97f4a7c15;
    fill(table);
    const uint64_t result = values_run(iterations, seed, table);
    if (result != model(iterations, seed, table)) {
        printf("values: wrong result\n");
        return 1;
    }
    printf("values: %" PRIu64 "\n", result);
    return 0;
}

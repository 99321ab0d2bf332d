// Runs the loop of edges.S and checks its result against a model, which proves that the frequencies
// that edges.S claims are true natively.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t edges_run(uint64_t iterations, uint64_t random_state);

static uint64_t xorshift64(uint64_t state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ state << 17;
}

// `iterations` must be a multiple of 8.
static uint64_t model(uint64_t iterations, uint64_t random_state) {
    const uint64_t per_eight =
        6 * 2 + 2 * 1 + 4 * 7 + 2 * 11 + 13 + 17 + 8 * (19 + 23) + 4 * (29 + 31);
    uint64_t result = iterations / 8 * per_eight;
    for (uint64_t i = 0; i < iterations; ++i) {
        random_state = xorshift64(random_state);
        result += (random_state & 0xff) < 192 ? 5 : 3;
    }
    return result;
}

int main(int argc, char** argv) {
    const uint64_t iterations = 8 * (argc > 1 ? strtoull(argv[1], NULL, 0) : 30000000);
    const uint64_t seed = 0x9e3779b97f4a7c15;
    const uint64_t result = edges_run(iterations, seed);
    if (result != model(iterations, seed)) {
        printf("edges: wrong result\n");
        return 1;
    }
    printf("edges: %" PRIu64 "\n", result);
    return 0;
}

// A program of phases with random lengths and known shares: it alternates at random between two
// loops (phases.S). At its end it prints what it did. argv: [seed] [phases, of 1.5 ms on average]
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t first_run(uint64_t iterations, uint64_t* random_state);
uint64_t other_run(uint64_t iterations, uint64_t* random_state);

static uint64_t xorshift64(uint64_t state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ state << 17;
}

static uint64_t model(uint64_t iterations, uint64_t* random_state) {
    uint64_t taken = 0;
    for (uint64_t i = 0; i < iterations; ++i) {
        *random_state = xorshift64(*random_state);
        taken += (*random_state & 0xff) < 64;
    }
    return taken;
}

struct phase {
    uint64_t (*run)(uint64_t iterations, uint64_t* random_state);
    uint64_t iterations, taken;
};

int main(int argc, char** argv) {
    uint64_t chance = 0x9e3779b97f4a7c15 * (argc > 1 ? 1 + strtoull(argv[1], NULL, 0) : 1);
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000;
    struct phase phases[] = {{first_run, 0, 0}, {other_run, 0, 0}};
    uint64_t state = chance, model_state = chance;
    for (int i = 0; i < 2; ++i)
        if (phases[i].run(1000, &state) != model(1000, &model_state) || state != model_state) {
            printf("phases: wrong result\n");
            return 1;
        }
    for (int i = 0; i < 20; ++i) chance = xorshift64(chance);
    for (uint64_t i = 0; i < count; ++i) {
        chance = xorshift64(chance);
        struct phase* phase = &phases[(chance >> 40) % 10 >= 3];
        const uint64_t iterations = 1000 + (chance >> 8) % 500000;
        phase->taken += phase->run(iterations, &state);
        phase->iterations += iterations;
    }
    for (int i = 0; i < 2; ++i)
        printf("%s %" PRIu64 " %" PRIu64 "\n", i ? "other" : "first", phases[i].iterations,
               phases[i].taken);
    return 0;
}

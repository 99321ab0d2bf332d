// Goes argv[1] times through the loops of speeds.S, each of which takes about as long as the others
// but for the machine. TURNS stand in the test, too.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES (1u << 18)

void speeds_arithmetic(uint64_t turns);
void speeds_divides(uint64_t turns);
void** speeds_chase(uint64_t turns, void** from);
uint64_t speeds_branches(uint64_t turns, uint64_t state);

static uint64_t next_random(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// A cycle through cache lines, in random order.
static void** make_chain(void) {
    uint32_t* order = malloc(LINES * sizeof *order);
    void*(*chain)[8] = malloc(LINES * sizeof *chain);
    uint64_t state = 88172645463325252;
    if (!order || !chain) exit(2);
    for (uint32_t i = 0; i < LINES; ++i) order[i] = i;
    for (uint32_t i = LINES - 1; i > 0; --i) {
        const uint32_t j = (uint32_t)(next_random(&state) % (i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (uint32_t i = 0; i < LINES; ++i) chain[order[i]][0] = chain[order[(i + 1) % LINES]];
    free(order);
    return chain[0];
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const uint64_t rounds = strtoull(argv[1], NULL, 10);
    void** at = make_chain();
    uint64_t state = 1;
    for (uint64_t i = 0; i < rounds; ++i) {
        speeds_arithmetic(4000000);
        speeds_divides(600000);
        at = speeds_chase(60000, at);
        state = speeds_branches(600000, state);
    }
    return at == NULL || state == 0;
}

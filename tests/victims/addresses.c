// Runs the loop of addresses.S over numbers and a list in random order; checks its result against a
// model.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { steps = 65536 };

struct Element {
    struct Element* next;
    uint64_t number;
    uint64_t rest[6];
};

uint64_t addresses_run(uint64_t iterations, const uint64_t* table, const struct Element* list,
                       struct Element* const* pointers, uint64_t random_state);

static uint64_t table[8 * steps];
static struct Element elements[steps];
static struct Element* order[steps];

static uint64_t xorshift64(uint64_t state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ state << 17;
}

static void fill(void) {
    uint64_t state = 88172645463325252;
    for (size_t i = 0; i < 8 * steps; ++i) table[i] = i * i;
    for (size_t i = 0; i < steps; ++i) order[i] = &elements[i];
    for (size_t i = steps - 1; i > 0; --i) {
        state = xorshift64(state);
        const size_t other = state % (i + 1);
        struct Element* const swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    for (size_t i = 0; i < steps; ++i) {
        order[i]->next = order[(i + 1) % steps];
        order[i]->number = 3 * i + 1;
    }
}

static uint64_t model(uint64_t iterations, uint64_t state) {
    const struct Element* at = order[0];
    uint64_t result = 0;
    for (uint64_t i = 0; i < iterations; ++i) {
        const uint64_t step = i % steps;
        state = xorshift64(state);
        at = at->next;
        result += table[0] + table[step] + order[step]->number + table[8 * (step ^ 0xffff)] +
                  at->number + table[state & 0xffff];
    }
    return result;
}

int main(int argc, char** argv) {
    const uint64_t iterations = argc > 1 ? strtoull(argv[1], NULL, 0) : 40000000;
    const uint64_t seed = 0x9e3779b97f4a7c15;
    fill();
    const uint64_t result = addresses_run(iterations, table, order[0], order, seed);
    if (result != model(iterations, seed)) {
        printf("addresses: wrong result\n");
        return 1;
    }
    printf("addresses: %" PRIu64 "\n", result);
    return 0;
}

// Walks a ring of nodes that are scattered in the heap, and now and then sums up a long table.
// Prints the addresses of the nodes in the order of the ring.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { nodes = 50, elements = 50000 };

struct Node {
    struct Node* next;
    uint64_t rest[5];
};

void* streams_walk(uint64_t steps, void* node);
uint64_t streams_sum(uint64_t count, const uint64_t* table);

static struct Node* ring[nodes];
static uint64_t table[elements];

static void make_ring(void) {
    uint64_t state = 88172645463325252;
    for (int i = 0; i < nodes; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // A gap between nodes.
        if (!malloc(16 + state % 5000)) abort();
        ring[i] = malloc(sizeof(struct Node));
        if (!ring[i]) abort();
    }
    for (int i = nodes - 1; i > 0; --i) {
        state = state * 6364136223846793005 + 1442695040888963407;
        const int other = (int)((state >> 33) % (uint64_t)(i + 1));
        struct Node* const swapped = ring[i];
        ring[i] = ring[other];
        ring[other] = swapped;
    }
    for (int i = 0; i < nodes; ++i) ring[i]->next = ring[(i + 1) % nodes];
}

int main(int argc, char** argv) {
    const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 400;
    const uint64_t turns_a_round = 6000;
    make_ring();
    for (int i = 0; i < nodes; ++i) printf("%#" PRIxPTR "\n", (uintptr_t)ring[i]);
    for (int i = 0; i < elements; ++i) table[i] = (uint64_t)i;
    struct Node* at = ring[0];
    uint64_t sum = 0;
    for (uint64_t round = 0; round < rounds; ++round) {
        at = streams_walk(nodes * turns_a_round, at);
        sum += streams_sum(elements, table);
    }
    if (at != ring[0] || sum != rounds * ((uint64_t)elements * (elements - 1) / 2)) {
        printf("streams: wrong result\n");
        return 1;
    }
    return 0;
}

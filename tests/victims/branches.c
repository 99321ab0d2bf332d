// Runs the loop of branches.S, then descends 100 calls a hundredth as often, and checks its result.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { depth = 100 };

uint64_t branches_run(uint64_t iterations, uint64_t random);
void branches_descend(uint32_t depth);

int main(int argc, char** argv) {
    const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    const uint64_t sum = branches_run(n, 0x9e3779b97f4a7c15);
    // Three calls an iteration, every second alternating branch, and some of the random ones.
    if (sum < 3 * n + n / 2 || sum > 4 * n + n / 2 + 1) {
        printf("branches: wrong result\n");
        return 1;
    }
    for (uint64_t i = 0; i < n / 100; ++i) branches_descend(depth);
    printf("branches: %" PRIu64 "\n", n);
    return 0;
}

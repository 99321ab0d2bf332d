// Runs the loop of probes.S and checks its result against a model.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t probes_run(uint64_t iterations);

static uint64_t model(uint64_t iterations) {
    const uint64_t pointers[] = {0, 5, 6, 7};
    uint64_t result = 0;
    for (uint64_t i = 0; i < iterations; ++i) {
        result += i / (i % 4 == 3 ? 7 : 10);
        result += 64 + i % 64;
        result += i % 4 / 2 == 0 ? 1 : 2;
        result += 1;
        result += pointers[i % 4];
        result += i % 2;
    }
    return result;
}

int main(int argc, char** argv) {
    const uint64_t iterations = 4 * (argc > 1 ? strtoull(argv[1], NULL, 0) : 5000000);
    const uint64_t result = probes_run(iterations);
    if (result != model(iterations)) {
        printf("probes: wrong result\n");
        return 1;
    }
    printf("probes: %" PRIu64 "\n", result);
    return 0;
}

// Runs the loop of callers.S and checks its result against a model.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t callers_run(uint64_t iterations);

int main(int argc, char** argv) {
    const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 30000000;
    const uint64_t expected = n * (8 + 6 + 7) + n * (n + 1) / 2 + n;
    if (callers_run(n) != expected) {
        printf("callers: wrong result\n");
        return 1;
    }
    printf("callers: %" PRIu64 "\n", expected);
    return 0;
}

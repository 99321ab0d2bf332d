// Runs the loop of paths.S and checks its result against the frequencies that paths.S claims.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t paths_run(uint64_t iterations);

int main(int argc, char** argv) {
    const uint64_t eights = argc > 1 ? strtoull(argv[1], NULL, 0) : 300000000;
    const uint64_t result = paths_run(8 * eights);
    if (result != eights * (6 * 1 + (2 + 5 + 3) + (2 + 7 + 3))) {
        printf("paths: wrong result\n");
        return 1;
    }
    printf("paths: %" PRIu64 "\n", result);
    return 0;
}

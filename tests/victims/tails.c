// Runs the loop of tails.S and checks its result.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t tails_run(uint64_t iterations);

int main(int argc, char** argv) {
    const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
    if (n % 2 != 0) {
        printf("tails: iterations are even in number\n");
        return 2;
    }
    if (tails_run(n) != n + n / 2) {
        printf("tails: wrong result\n");
        return 1;
    }
    printf("tails: %" PRIu64 "\n", n + n / 2);
    return 0;
}

// Runs the loop of slow.S argv[1] times.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t slow_run(uint64_t iterations, const uint64_t* memory);

int main(int argc, char** argv) {
    static uint64_t memory[8] __attribute__((aligned(64)));
    if (argc != 2) return 2;
    printf("%" PRIu64 "\n", slow_run(strtoull(argv[1], NULL, 10), memory));
    return 0;
}

// Runs the loop of hazards.S and checks its iterations and its stores.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t hazards_run(uint64_t iterations, void* memory);

static _Alignas(4096) unsigned char memory[4 * 4096];

static uint64_t at(size_t offset) {
    uint64_t value;
    memcpy(&value, memory + offset, sizeof value);
    return value;
}

int main(int argc, char** argv) {
    const uint64_t iterations = argc > 1 ? strtoull(argv[1], NULL, 0) : 8000000;
    const uint64_t pattern = 0x1122334455667788;
    const uint64_t done = hazards_run(iterations, memory);
    if (done != iterations || at(0x200) != (uint32_t)(iterations - 1) || at(0xc0) != pattern ||
        at(0x327c) != pattern || at(0x300) != (uintptr_t)memory + 0x300 || at(0x10c0) != 0) {
        printf("hazards: wrong result\n");
        return 1;
    }
    printf("hazards: %" PRIu64 "\n", done);
    return 0;
}

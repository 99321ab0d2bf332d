// Runs the loop of system_calls.S and checks its result.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

uint64_t calls_run(uint64_t iterations);

int main(int argc, char** argv) {
    const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    const uint64_t each = 3 * (uint64_t)getppid() + getuid();
    if (calls_run(n) != n * each) {
        printf("system_calls: wrong result\n");
        return 1;
    }
    printf("system_calls: %" PRIu64 "\n", n);
    return 0;
}

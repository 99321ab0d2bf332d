// Runs argv[1] rounds of the loops of speeds.S. On the machine that TURNS was chosen on, each loop
// takes about the same time; the test knows TURNS, too. With "times" it prints the processor time
// of each loop in seconds. Without "times" it reads no clock: with a clock value on the stack, no
// emulation could meet a state of the program again. With "threads", two threads run the loops at
// once.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINES (1u << 18)

void speeds_arithmetic(uint64_t turns);
void speeds_divides(uint64_t turns);
void** speeds_chase(uint64_t turns, void** from);
uint64_t speeds_branches(uint64_t turns, uint64_t state);

static uint64_t next_random(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Returns a cycle through cache lines, in random order.
static void** make_chain(void) {
    uint32_t* order = malloc(LINES * sizeof *order);
    void*(*chain)[8] = malloc(LINES * sizeof *chain);
    uint64_t state = 88172645463325252;
    if (!order || !chain) exit(2);
    for (uint32_t i = 0; i < LINES; ++i) order[i] = i;
    for (uint32_t i = LINES - 1; i > 0; --i) {
        const uint32_t j = (uint32_t)(next_random(&state) % (i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (uint32_t i = 0; i < LINES; ++i) chain[order[i]][0] = chain[order[(i + 1) % LINES]];
    free(order);
    return chain[0];
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum loop { arithmetic, divides, chase, branches, loops };
static const char* const names[loops] = {"arithmetic", "divides", "chase", "branches"};
static double seconds[loops];

static void lap(enum loop loop, int wanted) {
    static double last;
    if (!wanted) return;
    const double now = cpu_seconds();
    if (last != 0) seconds[loop] += now - last;
    last = now;
}

static uint64_t rounds;
static int wants_times;

static void* go_through(void* chain) {
    void** at = chain;
    uint64_t state = 1;
    lap(branches, wants_times);
    for (uint64_t i = 0; i < rounds; ++i) {
        speeds_arithmetic(4000000);
        lap(arithmetic, wants_times);
        speeds_divides(600000);
        lap(divides, wants_times);
        at = speeds_chase(60000, at);
        lap(chase, wants_times);
        state = speeds_branches(600000, state);
        lap(branches, wants_times);
    }
    return state == 0 ? NULL : at;
}

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) return 2;
    const char* what = argc == 3 ? argv[2] : "";
    rounds = strtoull(argv[1], NULL, 10);
    wants_times = strcmp(what, "times") == 0;
    void** chain = make_chain();
    pthread_t other;
    const int has_other = strcmp(what, "threads") == 0;
    if (has_other && pthread_create(&other, NULL, go_through, chain) != 0) return 2;
    const void* end = go_through(chain);
    if (has_other) pthread_join(other, NULL);
    for (int i = 0; wants_times && i < loops; ++i) printf("%s %f\n", names[i], seconds[i]);
    return end == NULL;
}

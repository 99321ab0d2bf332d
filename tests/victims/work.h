// Computation that separates the interesting parts of a victim.
#pragma once

#include <stdint.h>

// Runs about 4 instructions for each step; the result depends on all of them.
static inline uint64_t work(uint64_t state, uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(state));  // keeps the compiler from merging steps
    }
    return state;
}

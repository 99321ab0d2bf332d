// A library for plugins.c. NAME and STEPS differ between the libraries; the size is the same.
#include "work.h"

__attribute__((noinline)) static uint64_t NAME(uint64_t state) {
    return work(state, STEPS) + 1;
}

uint64_t plugin(uint64_t state) {
    for (int i = 0; i < 100; ++i) state = NAME(state);
    return state;
}

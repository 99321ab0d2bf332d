// The stack grows with deep recursion, by megabytes, and keeps its content.
#include <sys/resource.h>

#include "check.h"

static uint64_t deep(int depth) {
    volatile uint64_t frame[512];
    for (int i = 0; i < 512; i += 64) frame[i] = (uint64_t)(depth + i);
    const uint64_t below = depth ? deep(depth - 1) : 0;
    for (int i = 0; i < 512; i += 64) CHECK(frame[i] == (uint64_t)(depth + i));
    return below + frame[448] - 448;
}

int main(void) {
    struct rlimit limit;
    CALL(getrlimit(RLIMIT_STACK, &limit));
    if (limit.rlim_cur < (8u << 20)) skip("a small stack");
    for (int round = 0; round < 20; ++round) {
        const int depth = 50 + round * 60;
        CHECK(deep(depth) == (uint64_t)depth * (uint64_t)(depth + 1) / 2);
        spin(60000);
    }
    puts("ok");
}

// The time stamp counter never goes back for a thread.
#include <sched.h>

#include "check.h"

int main(void) {
    uint64_t last = __builtin_ia32_rdtsc();
    unsigned processor;
    for (int round = 0; round < 300; ++round) {
        spin(80000);
        const uint64_t now = __builtin_ia32_rdtsc();
        CHECK(now > last);
        last = now;
        if (round % 30 == 0) sched_yield();
    }
    if (__builtin_ia32_rdtscp(&processor) > last) printf("ok\n");
}

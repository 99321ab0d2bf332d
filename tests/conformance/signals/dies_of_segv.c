// A program that faults without a handler dies of SIGSEGV, and its earlier output arrives.
// signal: SIGSEGV
#include <signal.h>

#include "check.h"

int main(void) {
    uint64_t sum = 0;
    int round = 0;
    for (; round < 60; ++round) {
        sum ^= spin(400000);
        CHECK(getppid() >= 0);
    }
    printf("%d rounds, %d\n", round, sum != 0);
    fflush(stdout);
    *(volatile int*)(uintptr_t)(round - 60) = 1;
    printf("not reached\n");
}

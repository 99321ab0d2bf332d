// The processor's number is one that the program may use, and is that of its processor.
// diverges: it may be moved to another processor behind the look at its number
#include <sched.h>

#include "check.h"

enum { max_processors = 4096, looks = 2000 };

static uint64_t seen[max_processors];

int main(void) {
    cpu_set_t allowed;
    CALL(sched_getaffinity(0, sizeof allowed, &allowed));
    for (int look = 0; look < looks; ++look) {
        const int processor = CALL(sched_getcpu());
        ++seen[processor];
        CHECK(CPU_ISSET((unsigned)processor, &allowed));
        spin(20000);
        if (look % 20 == 0) sched_yield();
    }
    for (unsigned processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &allowed)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        CALL(sched_setaffinity(0, sizeof one, &one));
        CHECK(sched_getcpu() == (int)processor);
    }
    printf("%d looks\n", looks);
}

// A thread that is bound to one processor stays bound, and the others stay free.
#include <pthread.h>
#include <sched.h>

#include "check.h"

static void* body(void* argument) {
    const int cpu = *(int*)argument;
    cpu_set_t one, now;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CALL(sched_setaffinity(0, sizeof one, &one));
    for (int round = 0; round < 80; ++round) {
        spin(40000);
        CHECK(sched_getcpu() == cpu);
        CALL(sched_getaffinity(0, sizeof now, &now));
        CHECK(CPU_EQUAL(&one, &now));
    }
    return NULL;
}

int main(void) {
    cpu_set_t all, now;
    CALL(sched_getaffinity(0, sizeof all, &all));
    int cpus[2] = {-1, -1};
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &all)) {
            if (cpus[0] < 0) cpus[0] = cpu;
            cpus[1] = cpu;
        }
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) CHECK(!pthread_create(&threads[i], NULL, body, &cpus[i]));
    for (int round = 0; round < 40; ++round) {
        spin(40000);
        CALL(sched_getaffinity(0, sizeof now, &now));
        CHECK(CPU_EQUAL(&all, &now));
    }
    for (int i = 0; i < 2; ++i) CHECK(!pthread_join(threads[i], NULL));
    puts("ok");
}

// wait4 returns the usage of one child, RUSAGE_CHILDREN the sum over children waited for.
#include <sys/resource.h>

#include "child.h"

int main(void) {
    int64_t faults = 0;
    for (int round = 0; round < 40; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(40000);
            _exit(0);
        }
        struct rusage usage;
        int status = -1;
        spin(50000);
        CHECK(wait4(child, &status, 0, &usage) == child && status == 0);
        CHECK(usage.ru_minflt > 0 && usage.ru_maxrss > 0);
        faults += usage.ru_minflt;
        struct rusage sum;
        CALL(getrusage(RUSAGE_CHILDREN, &sum));
        CHECK(sum.ru_minflt == faults);
    }
    puts("ok");
}

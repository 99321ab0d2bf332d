// The usage of children is zero for a process that has waited for no child.
// known-fault: attached: the process of which the fork server is born was a child
#include <sys/resource.h>
#include <sys/times.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 150; ++round) {
        spin(120000);
        struct rusage usage;
        CALL(getrusage(RUSAGE_CHILDREN, &usage));
        CHECK(usage.ru_utime.tv_sec == 0 && usage.ru_utime.tv_usec == 0);
        CHECK(usage.ru_stime.tv_sec == 0 && usage.ru_stime.tv_usec == 0);
        CHECK(usage.ru_maxrss == 0 && usage.ru_minflt == 0 && usage.ru_nvcsw == 0 &&
              usage.ru_nivcsw == 0);
        struct tms times_now;
        CALL(times(&times_now));
        CHECK(times_now.tms_cutime == 0 && times_now.tms_cstime == 0);
    }
    puts("ok");
}

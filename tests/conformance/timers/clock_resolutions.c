// The C library's clock_getres, which may ask the vDSO, says what the kernel says, of every clock.
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

static void compare(clockid_t clock) {
    struct timespec own = {0}, kernels = {0};
    errno = 0;
    const int result = clock_getres(clock, &own);
    const int own_error = errno;
    errno = 0;
    CHECK(result == (int)syscall(SYS_clock_getres, clock, &kernels));
    CHECK(own_error == errno);
    CHECK(own.tv_sec == kernels.tv_sec && own.tv_nsec == kernels.tv_nsec);
}

int main(void) {
    for (clockid_t clock = 0; clock < 16; ++clock) compare(clock);
    clockid_t own_processor_time;
    CHECK(clock_getcpuclockid(0, &own_processor_time) == 0);
    compare(own_processor_time);
    compare(-1);
    printf("ok\n");
}

// In a time namespace the monotonic clock is shifted for children, and for nobody else.
// leave-out: family: clocks are those of the emulator's namespace
#include <sys/syscall.h>
#include <time.h>

#include "enter.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static int64_t seconds(void) {
    struct timespec now, by_call;
    CALL(clock_gettime(CLOCK_MONOTONIC, &now));
    CALL(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &by_call));
    CHECK(by_call.tv_sec >= now.tv_sec && by_call.tv_sec <= now.tv_sec + 1000);
    return now.tv_sec;
}

int main(void) {
    enter_user_namespace(0);
    if (unshare(CLONE_NEWTIME) != 0) skip("no time namespaces");
    if (write_file("/proc/self/timens_offsets", "monotonic 1000000 0") != 0)
        skip("clocks cannot be shifted");
    for (int round = 0; round < 40; ++round) {
        const int64_t before = seconds();
        const pid_t child = CALL(fork());
        if (child == 0) {
            CHECK(seconds() >= before + 1000000);
            spin(40000);
            CHECK(seconds() >= before + 1000000);
            _exit(0);
        }
        spin(50000);
        expect_exit(child, 0);
        CHECK(seconds() < before + 900000);
    }
    puts("ok");
}

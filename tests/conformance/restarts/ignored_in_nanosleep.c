// A nanosleep during which ignored signals come leaves `rem` as it was.
// known-fault: sampled,bursts,exact,family,verify,attached: the kernel writes the rest if traced
#include <time.h>

#include "ignored.h"

// The call ends by itself.
static void wake(void) {}

static long enter(void) {
    struct timespec left = {123456789, 987654321};
    const long result = nanosleep(&(struct timespec){.tv_nsec = 10 * millisecond_ns}, &left);
    CHECK(left.tv_sec == 123456789 && left.tv_nsec == 987654321);
    return result;
}

int main(void) {
    check_ignored(enter, wake);
    printf("ok\n");
}

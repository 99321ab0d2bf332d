// A new descriptor is always the lowest one that is free.
#include <fcntl.h>

#include "check.h"

int main(void) {
    for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
    int first = CALL(open("/dev/null", O_RDONLY));
    for (int i = 1; i < 10; ++i) CHECK(CALL(open("/dev/null", O_RDONLY)) == first + i);
    for (int round = 0; round < 150; ++round) {
        const int low = first + round % 4, high = first + 5 + round % 4;
        CALL(close(high));
        CALL(close(low));
        spin(60000);
        CHECK(CALL(open("/dev/zero", O_RDONLY)) == low);
        CHECK(CALL(dup(first + 4)) == high);
        CHECK(fcntl(first + 9, F_DUPFD, first) == first + 10);
        CALL(close(first + 10));
    }
    puts("ok");
}

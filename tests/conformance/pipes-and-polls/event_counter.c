// An eventfd sums what is written, and returns it at once, or one by one as a semaphore.
#include <sys/eventfd.h>

#include "check.h"

int main(void) {
    const int sum = CALL(eventfd(0, EFD_NONBLOCK));
    const int semaphore = CALL(eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE));
    for (int round = 0; round < 100; ++round) {
        uint64_t value = (uint64_t)round + 1;
        CHECK(write(sum, &value, 8) == 8 && write(sum, &value, 8) == 8);
        value = 2;
        CHECK(write(semaphore, &value, 8) == 8);
        spin(60000);
        CHECK(read(sum, &value, 8) == 8 && value == 2 * ((uint64_t)round + 1));
        CHECK(read(sum, &value, 8) == -1 && errno == EAGAIN);
        CHECK(read(semaphore, &value, 8) == 8 && value == 1);
        CHECK(read(semaphore, &value, 8) == 8 && value == 1);
        CHECK(read(semaphore, &value, 8) == -1 && errno == EAGAIN);
        value = UINT64_MAX;
        CHECK(write(sum, &value, 8) == -1 && errno == EINVAL);
    }
    puts("ok");
}

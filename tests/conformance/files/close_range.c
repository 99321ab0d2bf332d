// close_range closes the descriptors of its range, or marks them close-on-exec.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 80; ++round) {
        for (int i = 0; i < 8; ++i) CHECK(dup2(0, 40 + i) == 40 + i);
        spin(60000);
        if (syscall(SYS_close_range, 41, 43, 0) != 0) skip("no close_range");
        if (syscall(SYS_close_range, 44, 45, CLOSE_RANGE_CLOEXEC) != 0) skip("an old close_range");
        for (int i = 0; i < 8; ++i) {
            const int flags = fcntl(40 + i, F_GETFD);
            CHECK(flags == (i >= 1 && i <= 3 ? -1 : i == 4 || i == 5 ? FD_CLOEXEC : 0));
        }
        CALL(syscall(SYS_close_range, 40, 60, 0));
    }
    puts("ok");
}

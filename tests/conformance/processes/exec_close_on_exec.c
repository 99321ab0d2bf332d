// exec closes the descriptors that are marked close-on-exec, and no others.
#include <fcntl.h>

#include "child.h"

int main(int count, char** arguments) {
    if (count > 1) {
        const int kept = atoi(arguments[1]);
        const int closed = atoi(arguments[2]);
        spin(30000);
        CHECK(fcntl(kept, F_GETFD) == 0);
        CHECK(fcntl(closed, F_GETFD) == -1 && errno == EBADF);
        return 13;
    }
    for (int round = 0; round < 25; ++round) {
        const int kept = CALL(open("/dev/null", O_RDONLY));
        const int closed = CALL(open("/dev/null", O_RDONLY | O_CLOEXEC));
        char one[16], two[16];
        snprintf(one, sizeof one, "%d", kept);
        snprintf(two, sizeof two, "%d", closed);
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            execl("/proc/self/exe", "self", one, two, NULL);
            CHECK(!"exec failed");
        }
        spin(60000);
        expect_exit(child, 13);
        CHECK(fcntl(closed, F_GETFD) == FD_CLOEXEC);
        close(kept);
        close(closed);
    }
    puts("ok");
}

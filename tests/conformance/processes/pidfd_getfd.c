// pidfd_getfd takes a descriptor of a child, with the same open file behind it.
#include <sys/mman.h>
#include <sys/syscall.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 25; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t child = CALL(fork());
        if (child == 0) {
            const int file = CALL(memfd_create("given", 0));
            CHECK(write(file, "abcdef", 6) == 6);
            CALL(lseek(file, 2, SEEK_SET));
            CHECK(write(ready[1], &file, sizeof file) == sizeof file);
            sleep_for_ever();
        }
        int file = -1;
        CHECK(read(ready[0], &file, sizeof file) == sizeof file);
        spin(60000);
        const int process = (int)syscall(SYS_pidfd_open, child, 0);
        const int taken = (int)syscall(SYS_pidfd_getfd, process, file, 0);
        const int error = errno;
        char text[3] = {0};
        if (taken >= 0) CHECK(read(taken, text, 2) == 2);
        kill(child, SIGKILL);
        expect_killed(child, SIGKILL);
        if (taken < 0) {
            CHECK(error == ENOSYS || error == EPERM || error == EBADF);
            skip("no pidfd_getfd");
        }
        CHECK(strcmp(text, "cd") == 0);
        close(taken);
        close(process);
        close(ready[0]);
        close(ready[1]);
    }
    puts("ok");
}

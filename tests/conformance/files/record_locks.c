// Record locks belong to the process: a child has none, and learns which process holds them.
#include <fcntl.h>
#include <sys/mman.h>

#include "child.h"

int main(void) {
    const int file = CALL(memfd_create("locks", 0));
    const pid_t self = getpid();
    for (int round = 0; round < 40; ++round) {
        struct flock lock = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = round, .l_len = 10};
        CALL(fcntl(file, F_SETLK, &lock));
        spin(50000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            struct flock look = {
                .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = round + 5, .l_len = 1};
            CALL(fcntl(file, F_GETLK, &look));
            CHECK(look.l_type == F_WRLCK && look.l_pid == self && look.l_start == round &&
                  look.l_len == 10);
            CHECK(fcntl(file, F_SETLK, &lock) == -1 && (errno == EAGAIN || errno == EACCES));
            CALL(close(file));
            _exit(0);
        }
        expect_exit(child, 0);
        CALL(fcntl(file, F_GETLK, &lock));
        CHECK(lock.l_type == F_UNLCK);
        struct flock open_lock = {
            .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
        CALL(fcntl(file, F_SETLK, &open_lock));
    }
    puts("ok");
}

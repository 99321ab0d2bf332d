// CLONE_FILES shares descriptors, CLONE_FS the working directory and umask; memory stays apart.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "child.h"

int main(void) {
    static int own = 1;
    for (int round = 0; round < 40; ++round) {
        CALL(chdir("/"));
        umask(022);
        const int next = CALL(open("/dev/null", O_RDONLY));
        CALL(close(next));
        const pid_t child =
            (pid_t)CALL(syscall(SYS_clone, CLONE_FILES | CLONE_FS | SIGCHLD, NULL, NULL, NULL, 0));
        if (child == 0) {
            spin(30000);
            own = 2;
            CHECK(open("/dev/zero", O_RDONLY) == next);
            CALL(chdir("/proc"));
            umask(077);
            _exit(0);
        }
        spin(30000);
        expect_exit(child, 0);
        CHECK(own == 1);
        char byte = 1;
        CHECK(read(next, &byte, 1) == 1 && byte == 0);
        char where[64];
        CHECK(getcwd(where, sizeof where) && strcmp(where, "/proc") == 0);
        CHECK(umask(022) == 077);
        CALL(close(next));
    }
    puts("ok");
}

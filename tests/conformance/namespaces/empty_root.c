// A process whose root is an empty folder runs on, and finds no file.
#include "enter.h"

int main(void) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s/rootXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(folder));
    const pid_t child = CALL(fork());
    if (child == 0) {
        enter_user_namespace(CLONE_NEWNS);
        CALL(chroot(folder));
        CALL(chdir("/"));
        for (int round = 0; round < 100; ++round) {
            spin(80000);
            CHECK(open("/proc/self/maps", O_RDONLY) == -1 && errno == ENOENT);
            CHECK(access("/lib", F_OK) == -1 && errno == ENOENT);
            if (round % 20) continue;
            const pid_t inner = CALL(fork());
            if (inner == 0) _exit(0);
            expect_exit(inner, 0);
        }
        puts("ok");
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CALL(rmdir(folder));
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

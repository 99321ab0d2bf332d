// A file system can be unmounted when the process that worked in it was killed and waited for.
// known-fault: sampled: a replica has mappings of the file system
#include <sys/mount.h>

#include "enter.h"

static void rounds(const char* folder) {
    enter_user_namespace(CLONE_NEWNS);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip("mounts are refused");
    for (int round = 0; round < 40; ++round) {
        if (mount("none", folder, "tmpfs", 0, "size=1m") != 0) skip("tmpfs is refused");
        int ready[2];
        CALL(pipe(ready));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CALL(chdir(folder));
            CALL(open("file", O_CREAT | O_RDWR, 0600));
            CHECK(write(ready[1], "x", 1) == 1);
            spin_for_ever();
        }
        char byte;
        CHECK(read(ready[0], &byte, 1) == 1);
        CHECK(umount(folder) == -1 && errno == EBUSY);
        spin(80000);
        CALL(kill(child, SIGKILL));
        expect_killed(child, SIGKILL);
        CALL(umount(folder));
        CALL(close(ready[0]));
        CALL(close(ready[1]));
    }
}

int main(void) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s/workXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(folder));
    const pid_t child = CALL(fork());
    if (child == 0) {
        rounds(folder);
        puts("ok");
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CALL(rmdir(folder));
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

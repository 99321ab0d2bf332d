// A file system can be unmounted as soon as its only open file is closed.
// known-fault: sampled: a replica has mappings of the file system
// leave-out: family: emulators hold the files that children have mapped
#include <sys/mman.h>
#include <sys/mount.h>

#include "enter.h"

int main(void) {
    char folder[256], name[300];
    snprintf(folder, sizeof folder, "%s/mountXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/file", folder);
    const pid_t child = CALL(fork());
    if (child == 0) {
        enter_user_namespace(CLONE_NEWNS);
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip("mounts are refused");
        for (int round = 0; round < 60; ++round) {
            if (mount("none", folder, "tmpfs", 0, "size=1m") != 0) skip("tmpfs is refused");
            const int file = CALL(open(name, O_CREAT | O_RDWR, 0600));
            CALL(ftruncate(file, 4096));
            char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            CHECK(page != MAP_FAILED);
            page[0] = 1;
            CHECK(umount(folder) == -1 && errno == EBUSY);
            spin(80000);
            CALL(munmap(page, 4096));
            CALL(close(file));
            CALL(umount(folder));
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

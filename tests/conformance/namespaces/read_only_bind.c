// A folder that is bound read-only refuses writes there, and takes them where it is not.
#include <sys/mount.h>
#include <sys/stat.h>

#include "enter.h"

int main(void) {
    char folder[256], one[300], two[300], name[320];
    snprintf(folder, sizeof folder, "%s/bindXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    CHECK(mkdtemp(folder));
    const pid_t child = CALL(fork());
    if (child == 0) {
        enter_user_namespace(CLONE_NEWNS);
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip("mounts are refused");
        if (mount("none", folder, "tmpfs", 0, "size=64k") != 0) skip("tmpfs is refused");
        snprintf(one, sizeof one, "%s/one", folder);
        snprintf(two, sizeof two, "%s/two", folder);
        CALL(mkdir(one, 0700));
        CALL(mkdir(two, 0700));
        CALL(mount(one, two, NULL, MS_BIND, NULL));
        CALL(mount(NULL, two, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
        for (int round = 0; round < 60; ++round) {
            snprintf(name, sizeof name, "%s/file", two);
            CHECK(open(name, O_CREAT | O_WRONLY, 0600) == -1 && errno == EROFS);
            spin(60000);
            snprintf(name, sizeof name, "%s/file", one);
            CALL(close(CALL(open(name, O_CREAT | O_WRONLY | O_EXCL, 0600))));
            snprintf(name, sizeof name, "%s/file", two);
            CHECK(access(name, R_OK) == 0 && unlink(name) == -1 && errno == EROFS);
            snprintf(name, sizeof name, "%s/file", one);
            CALL(unlink(name));
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

// A process in a mount namespace with a hidden /proc runs on, and finds no /proc.
#include <sys/mount.h>

#include "enter.h"

int main(void) {
    enter_user_namespace(CLONE_NEWNS);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) skip("mounts are refused");
    if (mount("none", "/proc", "tmpfs", 0, "size=64k") != 0) skip("tmpfs is refused");
    for (int round = 0; round < 100; ++round) {
        spin(80000);
        CHECK(access("/proc/self", F_OK) == -1 && errno == ENOENT);
        if (round % 10) continue;
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(20000);
            _exit(0);
        }
        expect_exit(child, 0);
    }
    expect_no_child();
    puts("ok");
}

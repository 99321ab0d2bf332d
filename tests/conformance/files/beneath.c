// openat2 stays beneath its folder, refuses links if asked to, and reports both by its errors.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "check.h"

static int open_how(int folder, const char* name, uint64_t resolve) {
    struct open_how how = {.flags = O_RDONLY, .resolve = resolve};
    return (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
}

int main(void) {
    const int folder = CALL(open("/proc/self", O_RDONLY | O_DIRECTORY));
    if (open_how(folder, "stat", 0) < 0) skip("no openat2");
    for (int round = 0; round < 100; ++round) {
        spin(60000);
        const int file = CALL(open_how(folder, "stat", RESOLVE_BENEATH));
        CALL(close(file));
        CHECK(open_how(folder, "../version", RESOLVE_BENEATH) == -1 && errno == EXDEV);
        CHECK(open_how(folder, "/proc/version", RESOLVE_BENEATH) == -1 && errno == EXDEV);
        CHECK(open_how(folder, "exe", RESOLVE_NO_MAGICLINKS) == -1 && errno == ELOOP);
        CHECK(open_how(folder, "cwd/x", RESOLVE_NO_SYMLINKS) == -1 && errno == ELOOP);
    }
    puts("ok");
}

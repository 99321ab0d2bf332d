// An exec that fails returns its error, and the process goes on unchanged.
#include <fcntl.h>
#include <sys/mman.h>

#include "child.h"

int main(void) {
    const int empty = CALL(memfd_create("empty", MFD_CLOEXEC));
    const int nonsense = CALL(memfd_create("nonsense", MFD_CLOEXEC));
    CHECK(write(nonsense, "\177ELFnonsense", 12) == 12);
    char* const list[] = {"x", NULL};
    const char* volatile unmapped = (const char*)8;
    volatile uint64_t kept = 42;
    for (int round = 0; round < 50; ++round) {
        spin(60000);
        CHECK(execve("/nonexistent", list, NULL) == -1 && errno == ENOENT);
        CHECK(execve("/", list, NULL) == -1 && errno == EACCES);
        CHECK(execve("/dev/null", list, NULL) == -1 && errno == EACCES);
        CHECK(fexecve(empty, list, environ) == -1 && errno == ENOEXEC);
        CHECK(fexecve(nonsense, list, environ) == -1 && errno == ENOEXEC);
        CHECK(execve(unmapped, list, NULL) == -1 && errno == EFAULT);
        CHECK(kept == 42);
        CHECK(fcntl(nonsense, F_GETFD) == FD_CLOEXEC);
    }
    puts("ok");
}

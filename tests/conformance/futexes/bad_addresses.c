// Futex operations on unmapped memory fail with EFAULT, on unaligned addresses with EINVAL.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

int main(void) {
    char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    char* gone = page + 4096;
    CALL(munmap(gone, 4096));
    for (int round = 0; round < 100; ++round) {
        spin(80000);
        CHECK(syscall(SYS_futex, gone, FUTEX_WAIT, 0, NULL) == -1 && errno == EFAULT);
        CHECK(syscall(SYS_futex, gone, FUTEX_WAIT_PRIVATE, 0, NULL) == -1 && errno == EFAULT);
        CHECK(syscall(SYS_futex, gone, FUTEX_WAKE, 1) == -1 && errno == EFAULT);
        CHECK(syscall(SYS_futex, page + 2, FUTEX_WAIT, 0, NULL) == -1 && errno == EINVAL);
        CHECK(syscall(SYS_futex, page, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0) == -1 &&
              errno == EINVAL);
        CHECK(syscall(SYS_futex, page, 77, 0, NULL) == -1 && errno == ENOSYS);
    }
    puts("ok");
}

// A program maps its own file a second time: constants are the same there, and functions run there.
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "check.h"

__attribute__((noinline)) static int triple(int value) {
    int result;
    __asm__ volatile("lea (%1,%1,2), %0" : "=r"(result) : "r"(value));
    return result;
}

static const char constant[] = "a constant in the program's file";

static int find(struct dl_phdr_info* info, size_t size, void* result) {
    (void)size;
    *(uintptr_t*)result = info->dlpi_addr;
    return 1;
}

int main(void) {
    const int file = CALL(open("/proc/self/exe", O_RDONLY));
    struct stat about;
    CALL(fstat(file, &about));
    uintptr_t base = 0;
    dl_iterate_phdr(find, &base);
    for (int round = 0; round < 60; ++round) {
        char* copy = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
        CHECK(copy != MAP_FAILED);
        char* again = memmem(copy, (size_t)about.st_size, constant, sizeof constant);
        CHECK(again && again != constant);
        char* code = memmem(copy, (size_t)about.st_size, (void*)(uintptr_t)triple, 4);
        CHECK(code);
        int (*volatile other)(int) = (int (*)(int))(uintptr_t)code;
        for (int i = 0; i < 200; ++i) CHECK(other(i) == triple(i));
        spin(20000);
        CALL(munmap(copy, (size_t)about.st_size));
    }
    puts("ok");
}

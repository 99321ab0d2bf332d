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

// The offset in the program's file of what is at ADDRESS in memory.
struct place {
    uintptr_t address;
    size_t offset;
};

static int find(struct dl_phdr_info* info, size_t size, void* argument) {
    (void)size;
    struct place* place = argument;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && place->address - begin < segment->p_filesz)
            place->offset = place->address - begin + segment->p_offset;
    }
    return 1;
}

static size_t offset_of(uintptr_t address) {
    struct place place = {address, 0};
    dl_iterate_phdr(find, &place);
    CHECK(place.offset);
    return place.offset;
}

int main(void) {
    const int file = CALL(open("/proc/self/exe", O_RDONLY));
    struct stat about;
    CALL(fstat(file, &about));
    const size_t text = offset_of((uintptr_t)constant);
    const size_t code = offset_of((uintptr_t)triple);
    for (int round = 0; round < 60; ++round) {
        char* copy = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
        CHECK(copy != MAP_FAILED);
        CHECK(memcmp(copy + text, constant, sizeof constant) == 0);
        int (*volatile other)(int) = (int (*)(int))(uintptr_t)(copy + code);
        for (int i = 0; i < 200; ++i) CHECK(other(i) == triple(i));
        spin(20000);
        CALL(munmap(copy, (size_t)about.st_size));
    }
    puts("ok");
}

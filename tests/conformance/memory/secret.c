// Memory of memfd_secret can be read and written by its process, but not by read(2).
#include <sys/mman.h>
#include <sys/syscall.h>

#include "check.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

int main(void) {
    const int file = (int)syscall(SYS_memfd_secret, 0);
    if (file < 0) skip("no memfd_secret");
    CALL(ftruncate(file, 8192));
    volatile uint64_t* words = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (words == MAP_FAILED) skip("no secret memory");
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 1024; i += 8) words[i] = (uint64_t)(i * round);
        spin(60000);
        for (int i = 0; i < 1024; i += 8) CHECK(words[i] == (uint64_t)(i * round));
        char byte;
        CHECK(read(file, &byte, 1) == -1 && errno == EINVAL);
    }
    puts("ok");
}

// Mappings of /dev/zero begin with zeros, keep what is written, and are independent.
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"

int main(void) {
    const int zero = CALL(open("/dev/zero", O_RDWR));
    for (int round = 0; round < 80; ++round) {
        volatile char* own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
        volatile char* shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0);
        CHECK(own != MAP_FAILED && shared != MAP_FAILED);
        CHECK(own[5] == 0 && shared[5] == 0);
        own[5] = 1;
        shared[5] = 2;
        spin(60000);
        CHECK(own[5] == 1 && shared[5] == 2 && own[4096] == 0);
        CALL(munmap((char*)own, 8192));
        CALL(munmap((char*)shared, 8192));
    }
    puts("ok");
}

// A memfd can be sealed against writing as soon as its last writable mapping is gone.
// known-fault: sampled,attached: a replica has the shared mapping, too
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 100; ++round) {
        const int file = CALL(memfd_create("sealed", MFD_ALLOW_SEALING));
        CALL(ftruncate(file, 4096));
        char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        CHECK(page != MAP_FAILED);
        page[0] = (char)round;
        spin(60000);
        CHECK(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE) == -1 && errno == EBUSY);
        CALL(munmap(page, 4096));
        CALL(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK));
        CHECK(fcntl(file, F_GET_SEALS) == (F_SEAL_WRITE | F_SEAL_SHRINK));
        CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED &&
              errno == EPERM);
        CHECK(write(file, "x", 1) == -1 && errno == EPERM);
        CHECK(ftruncate(file, 0) == -1 && errno == EPERM);
        CALL(close(file));
    }
    puts("ok");
}

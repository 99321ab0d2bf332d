// mremap of zero bytes of a shared mapping maps the same pages once more.
#include <sys/mman.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 80; ++round) {
        volatile int* one =
            mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CHECK(one != MAP_FAILED);
        volatile int* two = mremap((int*)one, 0, 8192, MREMAP_MAYMOVE);
        CHECK(two != MAP_FAILED && two != one);
        for (int i = 0; i < 10; ++i) {
            one[i * 100] = round + i;
            spin(12000);
            CHECK(two[i * 100] == round + i);
            two[i * 100] = -1;
            CHECK(one[i * 100] == -1);
        }
        CALL(munmap((int*)one, 8192));
        two[5] = 5;
        CHECK(two[5] == 5);
        CALL(munmap((int*)two, 8192));
    }
    puts("ok");
}

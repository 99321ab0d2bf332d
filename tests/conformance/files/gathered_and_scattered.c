// writev and readv split a file's bytes over buffers, positioned ones without moving the offset.
#include <sys/mman.h>
#include <sys/uio.h>

#include "check.h"

int main(void) {
    const int file = CALL(memfd_create("parts", 0));
    for (int round = 0; round < 100; ++round) {
        char one[5] = "abcd", two[9] = "efghijkl";
        one[0] = (char)('A' + round % 26);
        const struct iovec out[3] = {{one, 4}, {two, 0}, {two, 8}};
        CALL(lseek(file, 0, SEEK_SET));
        CHECK(writev(file, out, 3) == 12);
        char first[7] = {0}, last[7] = {0};
        const struct iovec in[2] = {{first, 6}, {last, 6}};
        spin(60000);
        CHECK(preadv(file, in, 2, 0) == 12);
        CHECK(strcmp(first + 1, "bcdef") == 0 && first[0] == one[0] && strcmp(last, "ghijkl") == 0);
        CHECK(lseek(file, 0, SEEK_CUR) == 12);
        CHECK(pwritev(file, in, 2, 12) == 12);
        CHECK(lseek(file, 0, SEEK_END) == 24);
    }
    puts("ok");
}

// brk grows with zeros and shrinks, and sbrk(0) stays where it was set.
#include "check.h"

int main(void) {
    char* const begin = sbrk(0);
    for (int round = 0; round < 80; ++round) {
        const intptr_t size = 4096 * (1 + round % 30);
        CHECK(sbrk(size) == begin);
        for (intptr_t at = 0; at < size; at += 1024) {
            CHECK(((volatile char*)begin)[at] == 0);
            ((volatile char*)begin)[at] = 1;
        }
        spin(60000);
        CHECK(sbrk(0) == begin + size);
        CALL(brk(begin));
        CHECK(sbrk(0) == begin);
    }
    puts("ok");
}

// FUTEX_WAKE_OP changes the second word, whose old value decides whether it wakes there too.
#include <linux/futex.h>
#include <sys/syscall.h>

#include "check.h"

int main(void) {
    static int one, two;
    for (int round = 0; round < 150; ++round) {
        two = 10;
        const int add = FUTEX_OP(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_EQ, 10);
        CHECK(syscall(SYS_futex, &one, FUTEX_WAKE_OP_PRIVATE, 1, 1, &two, add) == 0);
        CHECK(two == 15);
        const int clear = FUTEX_OP(FUTEX_OP_ANDN, 3, FUTEX_OP_CMP_LT, 0);
        CHECK(syscall(SYS_futex, &one, FUTEX_WAKE_OP_PRIVATE, 1, 1, &two, clear) == 0);
        CHECK(two == 12);
        const int set = FUTEX_OP(FUTEX_OP_SET, round, FUTEX_OP_CMP_GE, 0);
        CHECK(syscall(SYS_futex, &one, FUTEX_WAKE_OP_PRIVATE, 1, 1, &two, set) == 0);
        CHECK(two == round);
        spin(70000);
    }
    puts("ok");
}

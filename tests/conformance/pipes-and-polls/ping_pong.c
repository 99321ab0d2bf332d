// Two processes hand a number back and forth by two pipes.
#include "child.h"

int main(void) {
    int there[2], back[2];
    CALL(pipe(there));
    CALL(pipe(back));
    const pid_t child = CALL(fork());
    const int in = child ? back[0] : there[0], out = child ? there[1] : back[1];
    CALL(close(child ? back[1] : there[1]));
    CALL(close(child ? there[0] : back[0]));
    int number = 0;
    for (int round = 0; round < 150; ++round) {
        if (child) CHECK(write(out, &number, sizeof number) == sizeof number);
        CHECK(read(in, &number, sizeof number) == sizeof number);
        CHECK(number == 2 * round + (child ? 1 : 0));
        ++number;
        spin(30000);
        if (!child) CHECK(write(out, &number, sizeof number) == sizeof number);
    }
    if (child == 0) _exit(0);
    CALL(close(out));
    CHECK(read(in, &number, sizeof number) == 0);
    expect_exit(child, 0);
    printf("%d\n", number);
}
